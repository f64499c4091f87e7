"""The latest events of a user's own account, in words for the user (ASVS 7.5.3)."""

import uuid
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, replace
from datetime import date, datetime
from itertools import groupby

from sqlalchemy import Select, select

from authsite.oauth.models import Client
from authsite.platform.audit.events import Event
from authsite.platform.audit.models import AuditEvent, Detail
from authsite.platform.context import Context
from authsite.platform.i18n import _

from .export import BY_USER

MAX_LISTED = 3
MAX_READ = 500
PAGE_SIZE = 50  # events
MAX_PAGES = 1000

# Only events that a user can understand and act upon.
_WORDS: Mapping[str, str] = {
    Event.BROWSER_REMEMBERED: _("Browser remembered after a second factor"),
    Event.CONSENT_GIVEN: _("Application allowed to sign you in"),
    Event.CONSENT_WITHDRAWN: _("Access of an application removed"),
    Event.DEVICE_APPROVED: _("Program allowed to sign you in, by its code"),
    Event.DEVICE_DENIED: _("Program not allowed to sign you in"),
    Event.EMAIL_CHANGE_REQUESTED: _("Change of the e-mail address requested"),
    Event.EMAIL_CHANGE_CANCELED: _("Change of the e-mail address canceled"),
    Event.EMAIL_CHANGE_REVERTED: _("Change of the e-mail address taken back"),
    Event.EMAIL_CHANGED: _("E-mail address changed"),
    Event.FACTOR_ADDED: _("Second factor or passkey added"),
    Event.FACTOR_FAILED: _("Wrong second factor or code"),
    Event.FACTOR_LOCKED: _("Authenticator app blocked after wrong codes"),
    Event.FACTOR_REMOVED: _("Second factor or passkey removed"),
    Event.FACTOR_RESET: _("Second factors removed by an administrator"),
    Event.LOGIN_LOCKED: _("Sign-in blocked for some minutes after failed attempts"),
    Event.LOGIN_DISAVOWED: _("Signed out everywhere with the link in an e-mail"),
    Event.LOGIN_FAILED: _("Failed attempt to sign in"),
    Event.LOGIN_STEPPED_UP: _("Confirmed with a further proof"),
    Event.PASSKEY_CLONED: _("Passkey refused: someone may have copied it"),
    Event.PROVIDER_CLAIMED: _("Account taken over by the owner of its e-mail address"),
    Event.PROVIDER_CONFIRMED: _("Confirmed with another provider"),
    Event.PROVIDER_LINKED: _("Sign-in method connected"),
    Event.PROVIDER_UNLINKED: _("Sign-in method disconnected"),
    Event.REAUTHENTICATION_FAILED: _("Wrong current password entered"),
    Event.RECOVERY_CODE_USED: _("Recovery code used"),
    Event.RECOVERY_CODES_CREATED: _("New recovery codes made"),
    Event.RECOVERY_REQUESTED: _("Link to reset the password requested"),
    Event.RECOVERY_DONE: _("Password reset"),
    Event.SESSION_BEGUN: _("Signed in"),
    Event.SESSION_ENDED: _("Signed out"),
    Event.TOKEN_CREATED: _("Personal access token created"),
    Event.TOKEN_ISSUED: _("Signed in with an app"),
    Event.TOKEN_REUSED: _("App signed out: someone may have copied its access"),
    Event.TOKEN_REVOKED: _("App signed out or token revoked"),
    Event.USER_CHANGED: _("Profile changed"),
    Event.USER_CONFIRMED: _("E-mail address confirmed"),
    Event.USER_CREATED: _("Account created"),
    Event.USER_DISABLED: _("Account disabled by an administrator"),
    Event.USER_ENABLED: _("Account enabled by an administrator"),
    Event.USER_EXPORTED: _("Data of the account exported by an administrator"),
    Event.USER_OTHERS_SIGNED_OUT: _("Signed out everywhere else"),
    Event.USER_PASSWORD_CHANGED: _("Password changed"),
    Event.USER_SIGNED_OUT: _("Signed out everywhere by an administrator"),
}
_Events = Select[str, dict[str, Detail] | None, str, str | None, str | None, datetime]
_BY_USER: Mapping[str, str] = {Event.USER_EXPORTED: _("Data of the account downloaded")}

# Events that anyone who knows a login name can cause. They are listed apart, so that they cannot
# displace what was done with the account.
ATTEMPTS = {
    Event.FACTOR_FAILED,
    Event.LOGIN_FAILED,
    Event.LOGIN_LOCKED,
    Event.REAUTHENTICATION_FAILED,
    Event.RECOVERY_REQUESTED,
}


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
