"""The types and the helper that the ``mails.py`` of a package works with."""

from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime
from urllib.parse import quote

from authsite.context import Services

from .leases import ClaimedMail


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
    name that the user entered; ``about``: the name of what the mail is about; `rendering` cleans
    both. ``ip``: the client address that the mail is about. The site, the address, the lifetime and
    the date come from the settings and the row.
    """

    template: str
    link: str | None = None
    name: str | None = None
    about: str | None = None
    other_link: str | None = None
    ip: str | None = None


# Called right before sending. None: the mail is not needed any more (the address is confirmed).
MailBuilder = Callable[[MailJob], MailContent | None]


def with_query(page_url: str | None, **parameters: str) -> str:
    """``page_url`` with these query parameters added."""
    page_url = page_url or ""
    query = "&".join(f"{name}={quote(value, safe='')}" for name, value in parameters.items())
    return f"{page_url}{'&' if '?' in page_url else '?'}{query}"
