"""The latest events of a user's own account, in words for the user (ASVS 7.5.3)."""

import uuid
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, replace
from datetime import date, datetime
from itertools import groupby

from sqlalchemy import Select, select

from authsite.audit.models import AuditEvent, Detail
from authsite.context import Context
from authsite.i18n import _
from authsite.oauth.models import Client

from .export import BY_USER

MAX_LISTED = 3
MAX_READ = 500
PAGE_SIZE = 50  # events
MAX_PAGES = 1000

# Only events that a user can understand and act upon.
_WORDS: Mapping[str, str] = {
    "email.change_asked": _("Change of the e-mail address requested"),
    "email.change_canceled": _("Change of the e-mail address canceled"),
    "email.change_reverted": _("Change of the e-mail address taken back"),
    "email.changed": _("E-mail address changed"),
    "login.closed": _("Sign-in blocked for some minutes after failed attempts"),
    "login.disowned": _("Signed out everywhere with the link in an e-mail"),
    "login.failed": _("Failed attempt to sign in"),
    "reauthentication.failed": _("Wrong current password entered"),
    "recovery.asked": _("Link to reset the password requested"),
    "recovery.done": _("Password reset"),
    "session.begun": _("Signed in"),
    "session.ended": _("Signed out"),
    "token.created": _("Personal access token created"),
    "token.issued": _("Signed in with an app"),
    "token.reused": _("App signed out: someone may have copied its access"),
    "token.revoked": _("App signed out or token revoked"),
    "user.changed": _("Profile changed"),
    "user.confirmed": _("E-mail address confirmed"),
    "user.created": _("Account created"),
    "user.disabled": _("Account disabled by an administrator"),
    "user.enabled": _("Account enabled by an administrator"),
    "user.exported": _("Data of the account exported by an administrator"),
    "user.others_signed_out": _("Signed out everywhere else"),
    "user.password_changed": _("Password changed"),
    "user.signed_out": _("Signed out everywhere by an administrator"),
}
_Events = Select[str, dict[str, Detail] | None, str, str | None, str | None, datetime]
_BY_USER: Mapping[str, str] = {"user.exported": _("Data of the account downloaded")}

# What anyone can cause who knows a login name. They are listed apart, so that they cannot displace
# what was done with the account.
ATTEMPTS = frozenset(("login.closed", "login.failed", "reauthentication.failed", "recovery.asked"))


@dataclass(frozen=True, slots=True)
class Activity:
    """``count`` equal events in a row, the latest ``at``; ``words`` are translatable.

    ``client`` is the name of the app, if there was one. ``address`` is None for a command of an
    administrator.
    """

    words: str
    client: str | None
    address: str | None
    agent: str | None
    at: datetime
    count: int


@dataclass(frozen=True, slots=True)
class Latest:
    """What was done with an account, and what was attempted; the newest first."""

    done: list[Activity]
    attempts: list[Activity]


def list_latest(ctx: Context, user_id: uuid.UUID) -> Latest:
    """The latest events of the user, at most `MAX_LISTED` lines of each sort.

    Equal neighbors are one line. Of each sort only the latest `MAX_READ` events are read.
    """
    done, attempts = (
        _list_folded(ctx, _read(user_id, events).limit(MAX_READ))[:MAX_LISTED]
        for events in (_WORDS.keys() - ATTEMPTS, ATTEMPTS)
    )
    return Latest(done, attempts)


def list_page(ctx: Context, user_id: uuid.UUID, number: int) -> tuple[list[Activity], bool]:
    """A page of all events, and whether there are older ones.

    ``number``: of the page, from 1 to `MAX_PAGES`. It has `PAGE_SIZE` events; equal neighbors are
    one line.
    """
    query = _read(user_id, _WORDS.keys())
    older = query.offset(number * PAGE_SIZE).limit(1)
    more = number < MAX_PAGES and ctx.db.execute(older).first() is not None
    return _list_folded(ctx, query.offset((number - 1) * PAGE_SIZE).limit(PAGE_SIZE)), more


def by_day(items: Iterable[Activity]) -> list[tuple[date, list[Activity]]]:
    """The events of each day (UTC), in their order."""
    return [(day, list(each)) for day, each in groupby(items, lambda item: item.at.date())]


def _read(user_id: uuid.UUID, events: Collection[str]) -> _Events:
    return (
        select(
            AuditEvent.event,
            AuditEvent.details,
            Client.name,
            AuditEvent.address,
            AuditEvent.agent,
            AuditEvent.at,
        )
        .outerjoin(Client, Client.id == AuditEvent.client_id)
        .where(AuditEvent.user_id == user_id, AuditEvent.event.in_(events))
        .order_by(AuditEvent.id.desc())
    )


def _list_folded(ctx: Context, query: _Events) -> list[Activity]:
    lines = [
        Activity(_words(row.event, row.details), row.name, row.address, row.agent, row.at, count=1)
        for row in ctx.db.execute(query)
    ]
    equal = groupby(lines, lambda line: (line.words, line.client, line.address, line.agent))
    folded = [list(each) for _, each in equal]
    return [replace(each[0], count=len(each)) for each in folded]


def _words(event: str, details: Mapping[str, object] | None) -> str:
    by_user = (details or {}).get("by") == BY_USER
    return _BY_USER[event] if by_user and event in _BY_USER else _WORDS[event]
