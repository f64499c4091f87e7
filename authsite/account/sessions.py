"""The active sessions of a user: token families and browser sessions, in one list (ASVS 7.5).

A personal access token is not a session, but was created in one: a user who ends that session may
revoke it, too. `authsite.oauth.personal` lists and revokes each of them.
"""

import uuid
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import date, datetime
from itertools import groupby
from uuid import UUID

from sqlalchemy import Select, case, select

from authsite.oauth.codes import session_end
from authsite.oauth.models import Client, Family
from authsite.oauth.tokens import active_personal, families
from authsite.oauth.tokens.active import ACTIVE_FAMILIES
from authsite.oauth.tokens.active_personal import end_created_in
from authsite.oauth.tokens.families import ListedToken, list_personal
from authsite.platform.audit.events import Event
from authsite.platform.audit.models import AuditEvent, Detail
from authsite.platform.audit.service import Cause, details_of, record
from authsite.platform.context import Context
from authsite.platform.i18n import _
from authsite.platform.runtime import clock
from authsite.sign_in.credentials import amr_of
from authsite.sign_in.sessions import service as sessions
from authsite.sign_in.sessions.models import BrowserSession
from authsite.users import former
from authsite.users import service as users
from authsite.users.account import proved_at

from .service import BY_USER

MAX_SESSIONS = 100  # a program that logs in repeatedly makes thousands


@dataclass(frozen=True, slots=True)
class ActiveSession:
    """One active session; ``kind`` is ``browser`` or ``app``.

    ``amr`` and ``auth_at``: how and when the user proved to be who they are; ``auth_at`` is None if
    that is not known. ``tokens``: the active personal access tokens that were created in it.
    """

    id: UUID
    kind: str
    client: str | None
    address: str | None
    agent: str | None
    created: datetime
    last_used: datetime
    current: bool
    amr: tuple[str, ...]
    auth_at: datetime | None
    tokens: tuple[ListedToken, ...] = ()


def list_active(
    ctx: Context, user_id: UUID, current: UUID | None
) -> tuple[list[ActiveSession], bool]:
    """The active sessions of a user: ``current`` first, then by last use.

    At most `MAX_LISTED`, and whether there are others.
    """
    last_used = case((Family.used_at > Family.rotated_at, Family.used_at), else_=Family.rotated_at)
    families_used = ctx.db.execute(
        ACTIVE_FAMILIES.with_only_columns(Family, Client.name, last_used)
        .where(
            Family.user_id == user_id,
            Family.refresh_expires_at > clock.now(),
        )
        .order_by(Family.id != current, last_used.desc())
        .limit(MAX_SESSIONS + 1)
    )
    found = [_active(row, "app", client, used, current) for row, client, used in families_used]
    rows = sessions.list_active(ctx, user_id, current, MAX_SESSIONS + 1)
    found += [_active(row, "browser", None, row.used_at, current) for row in rows]
    found.sort(key=lambda item: (not item.current, -item.last_used.timestamp()))
    tokens = list_personal(ctx, user_id)
    listed = [
        replace(item, tokens=tuple(each for each in tokens if each.session_id == item.id))
        for item in found[:MAX_SESSIONS]
    ]
    return listed, len(found) > MAX_SESSIONS


def _active(
    row: Family | BrowserSession,
    kind: str,
    client: str | None,
    last_used: datetime,
    current: UUID | None,
) -> ActiveSession:
    amr = amr_of(row.facts)
    return ActiveSession(
        id=row.id,
        kind=kind,
        client=client,
        address=row.address,
        agent=row.agent,
        created=row.created_at,
        last_used=last_used,
        current=row.id == current,
        amr=amr,
        auth_at=proved_at(amr, row.auth_at or row.created_at),
    )


def end(
    ctx: Context,
    user_id: UUID,
    session_id: UUID,
    current: UUID | None,
    *,
    revoke_tokens: bool = True,
    cause: Cause | None = None,
) -> bool:
    """End one session of this user; whether there was one (IDOR: another user's is not found).

    With ``revoke_tokens`` the personal access tokens that were created in it end, too. Another
    session than ``current`` may be that of an intruder. So all tokens that applications got in it
    end, `offline_access` or not, and a pending change of address.
    """
    # Before the row of the session, as all that locks both does. What creates a personal access
    # token locks the user, too, so that none is created in a session that is ending.
    users.lock(ctx.db, user_id)
    disowned = session_id != current
    ended = sessions.end(ctx, user_id, session_id, cause, disowned=disowned) or _end_family(
        ctx, user_id, session_id, cause
    )
    if ended and revoke_tokens:
        end_created_in(ctx, user_id, session_id, cause)
    if ended and disowned:
        former.end(ctx.db, user_id)
    return ended


def end_begun_with(
    ctx: Context, user_id: UUID, identity_id: UUID, current: UUID | None
) -> Sequence[UUID]:
    """End everything that began with this identity of the user, the present session as well.

    The tokens of applications and the personal access tokens of sessions that are over, too.
    Returns the ids of the browser sessions. Call it in the transaction that has locked the user.
    """
    # First the codes: one that is being redeemed is locked before its session.
    session_end.end_begun_with(ctx, user_id, identity_id)
    began = sessions.begun_with(ctx, user_id, identity_id)
    for session_id in began:
        if sessions.end(ctx, user_id, session_id, disowned=True):
            end_created_in(ctx, user_id, session_id)
    active_personal.end_begun_with(ctx, user_id, identity_id)
    if set(began) - {current}:
        former.end(ctx.db, user_id)
    return began


def _end_family(ctx: Context, user_id: UUID, family_id: UUID, cause: Cause | None) -> bool:
    family = ctx.db.get(Family, family_id)
    if family is None or family.user_id != user_id:
        return False
    if not families.revoke(ctx, family_id, "signed out"):
        return False  # it is revoked, or another request was faster
    details = details_of(cause, family=str(family_id), why="signed out")
    record(ctx, Event.TOKEN_REVOKED, user_id=user_id, client_id=family.client_id, details=details)
    return True


# The latest events of a user's own account, in words for the user (ASVS 7.5.3).


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
