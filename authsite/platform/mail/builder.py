"""The types and the helper that the ``mails.py`` of a package works with."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import NamedTuple, TypeAlias
from urllib.parse import quote

from authsite.platform.context import Services
from authsite.platform.registrations import Registered

from .leases import ClaimedMail

Device: TypeAlias = tuple[str | None, str | None]
"""A program and its system, as far as they are known."""


class RemainingFactor(NamedTuple):
    """A second factor that stays; ``name``: of a passkey, None for an authenticator app."""

    name: str | None
    added_at: datetime
    device: Device


@dataclass(frozen=True, slots=True)
class MailJob:
    """What a builder works with: the row of the outbox, the services, and the time."""

    services: Services
    mail: ClaimedMail
    now: datetime


@dataclass(frozen=True, slots=True)
class MailContent:
    """The templates of a mail (``<template>.txt`` and ``.html``) and the values for them.

    ``link``: where its button leads; ``other_link``: where the link below it leads. ``name``: the
    name that the user entered; ``about``: the name of what the mail is about; ``device``: the
    program and the system of the request that caused the mail; `rendering` cleans these.
    ``about_address``: an address as it is shown. ``language``: the one that is stored for the user,
    if there is one. ``code``: the one to type. ``password_known``: who caused the mail knows
    the user's password. ``by_link``: the link alone is enough, without a sign-in. ``factors``:
    those that stay. The site, the address, the lifetime, the client address and the date come from
    the settings and the row.
    """

    template: str
    link: str | None = None
    name: str | None = None
    about: str | None = None
    other_link: str | None = None
    about_address: str | None = None
    device: Device = (None, None)
    language: str | None = None
    code: str | None = None
    password_known: bool = False
    by_link: bool = False
    factors: Sequence[RemainingFactor] = ()


# Called right before sending. None: the mail is not needed any more (the address is confirmed).
MailBuilder = Callable[[MailJob], MailContent | None]
MAIL_BUILDERS = Registered[MailBuilder]("mails")


def is_own_page(job: MailJob, path: str) -> bool:
    """Whether the link of the mail opens authsite's own page at ``path``."""
    bases = (job.mail.base_url, *job.services.settings.base_url)
    return job.mail.page_url in [f"{base}{path}" for base in bases if base is not None]


def own_link(job: MailJob, path: str, token: str) -> str:
    """The link that opens authsite's own page at ``path`` with ``token``."""
    return f"{job.mail.base_url or ''}{path}/{token}"


def with_query(page_url: str | None, **parameters: str) -> str:
    """``page_url`` with these query parameters added."""
    page_url = page_url or ""
    query = "&".join(f"{name}={quote(value, safe='')}" for name, value in parameters.items())
    return f"{page_url}{'&' if '?' in page_url else '?'}{query}"
