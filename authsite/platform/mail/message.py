"""Compose the message of a rendered mail (RFC 5322)."""

import re
import textwrap
import unicodedata
import uuid
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from email.header import Header
from email.headerregistry import Address
from email.message import EmailMessage
from email.policy import EmailPolicy
from functools import cache
from pathlib import Path
from typing import Literal, NamedTuple, TypeAlias
from urllib.parse import quote

from jinja2 import (
    ChoiceLoader,
    Environment,
    FileSystemLoader,
    PrefixLoader,
    StrictUndefined,
    Template,
    select_autoescape,
)

from authsite.platform.addresses import shown
from authsite.platform.context import Services
from authsite.platform.http.own_files import absolute_href
from authsite.platform.i18n import (
    _,
    date_words,
    direction,
    duration_words,
    localizer,
    moment_words,
    tag,
    translate,
)
from authsite.platform.registrations import Registered
from authsite.platform.runtime import package
from authsite.platform.runtime.catalogs import DOMAIN
from authsite.platform.runtime.colors import ACCENT, BLACK, VISIBLE, WHITE, readable_on, towards
from authsite.platform.settings import Settings
from authsite.platform.settings.values import Mailbox, mailbox

from .leases import ClaimedMail

# The types and the helper that the ``mails.py`` of a package works with.


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


# Render a mail: subject, text and HTML in the recipient's language.


TEMPLATES = package.FOLDER / "templates" / "mail"
WIDTH = 72  # characters of a line of text
_BLANKS = re.compile(r"[ \t\r\n]+")  # not the no-break spaces of French
# A non-breaking hyphen, for a narrow headline would be broken after the E.
_HYPHEN = re.compile(r"\b([Ee]|[Ss]ign)-(?=[Mm]ail|in\b)")
MAX_NAME = 60  # characters
_HIDDEN = {"Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp"}
# Text that a mail client makes a link of, or that looks like one: a scheme, a path, an address, or
# a dot (in any script) before two letters.
_LINK_LIKE = re.compile(r"[/\\@:<>]|[.。・·][^\W\d_]{2}", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Rendered:
    """A rendered mail."""

    subject: str
    text: str
    html: str


def render(content: MailContent, mail: ClaimedMail, cfg: Settings, now: datetime) -> Rendered:
    """Render the row ``mail``. Raises jinja2's errors for an invalid template.

    It is in the language that is stored for the user, else in that of the request.
    """
    if content.language in cfg.languages:
        mail = replace(mail, language=content.language)
    templates = environment(mail.language, "txt", cfg.templates_folder)
    text = templates.get_template(f"{content.template}.txt")
    subject = _subject(templates, text, cfg.site_name)
    values = _values(content, mail, cfg, now) | {"subject": subject}
    html = environment(mail.language, "html", cfg.templates_folder).get_template(
        f"{content.template}.html"
    )
    return Rendered(subject, text.render(values), html.render(values))


@cache
def environment(
    language: str, kind: Literal["txt", "html"], folder: str | None = None
) -> Environment:
    """The environment of the mail templates in ``language``: HTML is escaped, text is not.

    ``folder``: setting `templates-folder`; its ``mail/reset.txt`` replaces our ``reset.txt``, which
    is still there as ``original/reset.txt``.
    """
    ours = FileSystemLoader(TEMPLATES)
    own = [FileSystemLoader(Path(folder, "mail"))] if folder else []
    templates = Environment(
        loader=ChoiceLoader([*own, ours, PrefixLoader({"original": ours})]),
        autoescape=select_autoescape(["html"]),
        undefined=StrictUndefined,
        extensions=["jinja2.ext.i18n"],
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
    )
    templates.filters["wrap"] = wrap
    own = localizer(language)
    replace_hyphen = _HYPHEN.sub if kind == "html" else lambda _hyphen, text: text
    templates.install_gettext_callables(  # type: ignore[attr-defined]  # the extension's
        lambda text: replace_hyphen("\\1\u2011", own.translate(text, DOMAIN)),
        lambda one, many, count: own.pluralize(one, many, count, DOMAIN),
        newstyle=True,
    )
    return templates


def _subject(templates: Environment, text: Template, site_name: str) -> str:
    """The subject, which gets only the site's name: no header contains input of a user."""
    if "subject" not in text.blocks:  # a site's own template extends ours
        text = templates.get_template(f"original/{text.name}")
    heading = text.blocks["subject"](text.new_context({"site_name": site_name}))
    return _BLANKS.sub(" ", "".join(heading)).strip()


def wrap(paragraph: str) -> str:
    """``paragraph`` in lines of 72 characters; a longer word, such as a URL, is not broken."""
    return textwrap.fill(
        _BLANKS.sub(" ", paragraph).strip(),
        WIDTH,
        break_long_words=False,
        break_on_hyphens=False,
    )


def _values(
    content: MailContent, mail: ClaimedMail, cfg: Settings, now: datetime
) -> dict[str, object]:
    accent = cfg.accent_color or ACCENT
    return {
        "language": tag(mail.language),
        "direction": direction(mail.language),
        "site_name": cfg.site_name,
        "site_logo": _href(cfg.site_logo, cfg, mail),
        "footer_links": [
            (words, url)
            for words, place in cfg.localized("footer_links", mail.language).items()
            if (url := _href(place, cfg, mail))
        ],
        "support_url": _href(cfg.localized("support_url", mail.language), cfg, mail),
        "accent": accent,
        "on_accent": readable_on(accent),
        "accent_edge": towards(accent, BLACK, (WHITE,), VISIBLE),  # makes a pale button visible
        "link": content.link,
        "other_link": content.other_link,
        "code": content.code,
        "password_known": content.password_known,
        "by_link": content.by_link,
        "factors": [_factor(each, mail.language) for each in content.factors],
        "name": tame_name(content.name),
        "about": tame_name(content.about),
        "about_address": content.about_address,
        "facts": facts(content, mail),
        "address": shown(mail.address),
        "when": moment_words(mail.created_at, mail.language),
        "lifetime": mail.expires_at
        and lifetime_words(mail.created_at, mail.expires_at, now, mail.language),
    }


def facts(content: MailContent, mail: ClaimedMail) -> Sequence[tuple[str, str]]:
    """When, with which device and from which address: pairs of label and value."""
    found = {
        _("When"): moment_words(mail.created_at, mail.language),
        _("Device"): mail.from_agent and _device(content.device, mail.language),
        _("IP address"): mail.from_address,
    }
    return [(translate(label, mail.language), value) for label, value in found.items() if value]


def _factor(factor: RemainingFactor, language: str) -> str:
    """A factor of the user in one line: its name, its day and its device."""
    words: str = localizer(language).translate("%(name)s, added on %(day)s: %(device)s", DOMAIN)
    kind = _("Authenticator app") if factor.name is None else _("Passkey")
    label, name = translate(kind, language), tame_name(factor.name)
    return words % {
        "name": f"{label} “{name}”" if name else label,
        "day": date_words(factor.added_at.date(), language),
        "device": _device(factor.device, language),
    }


def _device(names: Device, language: str) -> str:
    """The device in the words of the account page (the macro ``device`` of forms.jinja2)."""
    program, system = map(tame_name, names)
    if program and system:
        both: str = localizer(language).translate("%(program)s on %(system)s", DOMAIN)
        return both % {"program": program, "system": system}
    return program or system or translate(_("Unknown device"), language)


def tame_name(name: str | None) -> str | None:
    """``name`` for the text of a mail, or None if it looks like a link.

    An attacker can register another person's address with a name such as "you won, see
    evil.example", which our mail would deliver (CVE-2026-48019). Control and direction characters
    are removed, and the name is cut to 60 characters.
    """
    text = unicodedata.normalize("NFKC", name or "")
    shown = "".join(char for char in text if unicodedata.category(char) not in _HIDDEN)
    shown = " ".join(shown.split())[:MAX_NAME].rstrip()
    return None if _LINK_LIKE.search(shown) else shown or None


def lifetime_words(created_at: datetime, expires_at: datetime, now: datetime, language: str) -> str:
    """How long a link works: "1 hour", "90 minutes"; in a late mail, the time that is left."""
    left = expires_at - now
    if now - created_at < timedelta(minutes=2):
        # The request read the clock for the expiry before it enqueued the mail.
        left = expires_at - created_at + timedelta(seconds=5)
    return duration_words(left, language)


def _href(place: str | None, cfg: Settings, mail: ClaimedMail) -> str | None:
    """The absolute URL of a setting such as `site-logo`, since a mail has no base URL."""
    base = mail.base_url or next(iter(cfg.base_url), None)
    if place is None or place.startswith(("http:", "https:", "mailto:")):
        return place
    return absolute_href(base, place) if base else None


# SMTP allows 998 octets in a line (RFC 5321, 4.5.3.1.6); some servers count the line end twice.
_MAX_LINE = 990


class _Policy(EmailPolicy):
    """The default policy, which leaves out quotes where it folds a From with a long name."""

    def fold(self, name: str, value: str) -> str:
        if name != "From":
            return str(super().fold(name, value))
        [address] = value.addresses  # type: ignore[attr-defined]
        sender = Mailbox(address.display_name, address.addr_spec)
        return f"{name}: {_written(sender)}{self.linesep}"

    def fold_binary(self, name: str, value: str) -> bytes:
        if name != "From":
            return bytes(super().fold_binary(name, value))
        return self.fold(name, value).encode("ascii")


def _written(sender: Mailbox) -> str:
    """The mailbox in ASCII: a name in quotes if it needs them, or encoded (RFC 2047)."""
    name = sender.name
    if name.isascii() and "=?" not in name:
        return str(sender)
    return f"{Header(name, 'utf-8', header_name='From').encode()} <{sender.address}>"


@dataclass(frozen=True, slots=True)
class Mail:
    """A composed mail: the envelope and the message, whose serialization is ASCII."""

    id: uuid.UUID
    kind: str
    created_at: datetime
    sender: str
    recipient: str
    message: EmailMessage


def compose(row: ClaimedMail, rendered: Rendered, cfg: Settings, now: datetime) -> Mail:
    """The mail of ``row``. Its Message-ID is the same for every delivery attempt.

    Headers contain text from the settings and the recipient's address, which `outbox.put` has
    checked; no other input of a user.
    """
    name, sender = mailbox(cfg.mail_from)
    message = EmailMessage(policy=_Policy())
    message["From"] = Address(display_name=name, addr_spec=sender)
    message["To"] = row.address
    message["Subject"] = rendered.subject
    message["Date"] = now
    message["Message-ID"] = f"<{row.id}@{sender.rpartition('@')[2]}>"
    message["Auto-Submitted"] = "auto-generated"  # asks for no automatic replies (RFC 3834)
    charset, cte = _encoding(rendered.text)
    message.set_content(rendered.text, charset=charset, cte=cte)
    charset, cte = _encoding(rendered.html)
    message.add_alternative(rendered.html, subtype="html", charset=charset, cte=cte)
    return Mail(row.id, row.kind, row.created_at, sender, row.address, message)


def _encoding(text: str) -> tuple[str, str]:
    """The charset and the Content-Transfer-Encoding of ``text``."""
    # Plain ASCII needs no encoding, so a link stays on one line even in the raw mail.
    if text.isascii() and all(len(line) <= _MAX_LINE for line in text.splitlines()):
        return "us-ascii", "7bit"
    return "utf-8", "quoted-printable"
