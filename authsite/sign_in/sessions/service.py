"""Browser sessions: sign in, renew, end, list."""

import hmac
import secrets
import uuid
from base64 import urlsafe_b64encode
from collections.abc import Mapping, Sequence
from datetime import datetime
from hashlib import sha256
from typing import Any, NamedTuple, Protocol
from uuid import UUID

from sqlalchemy import delete, or_, select, update

from authsite.platform.audit.events import Event
from authsite.platform.audit.service import Cause, details_of, record
from authsite.platform.context import Context
from authsite.platform.registrations import Registered
from authsite.platform.runtime import clock
from authsite.sign_in import credentials, gate, notices
from authsite.sign_in.errors import WrongCredentials
from authsite.sign_in.gate import Complete
from authsite.sign_in.method import Pending, Target, Wrong
from authsite.sign_in.methods.mail_code import service as mail_code
from authsite.sign_in.methods.password import NAME as PASSWORD
from authsite.users import service as users
from authsite.users.account import Account, proved_at
from authsite.users.identities import Identity
from authsite.users.models import User, unchanged_since

from .active import ACTIVE_USER
from .models import BrowserSession

# The keys of a browser session: 256 random bits in a cookie, of which its row holds only a hash.
#
# Without `session-cookie-domain` a session has one key. With it there are two, since the
# applications behind forward auth receive the cookie of the domain: the session key opens
# authsite's own pages, and the guard key opens the rest. Each is derived from the one before::
#
#     session key  ->  guard key  ->  hash in the row
#
# HMAC-SHA-256 cannot be inverted, so a guard key opens no page of authsite. As both lead to one
# hash, either cookie finds the row by the same index, and the table needs no further column.


_GUARD_KEY = b"authsite guard key"
_GUARD_HASH = b"authsite hash of a guard key"


def key_hash(key: str) -> str:
    """SHA-256 in hex, which is enough for 256 random bits."""
    return sha256(_bytes(key)).hexdigest()


def guard_key(key: str) -> str:
    """The guard key of the session with this session key."""
    return urlsafe_b64encode(hmac.digest(_bytes(key), _GUARD_KEY, sha256)).rstrip(b"=").decode()


def guard_hash(key: str) -> str:
    """The hash in the row of the session with this guard key.

    It is not `key_hash`: without the setting, which may be removed, no guard key is a session key.
    """
    return hmac.digest(_bytes(key), _GUARD_HASH, sha256).hex()


def row_hash(key: str, *, shared: bool) -> str:
    """The hash in the row of the session with this session key.

    ``shared``: whether `session-cookie-domain` is set.
    """
    return guard_hash(guard_key(key)) if shared else key_hash(key)


def _bytes(key: str) -> bytes:
    return key.encode(errors="replace")


# What other packages do when a browser session is ended.


class AtEnd(Protocol):
    """What `config.at_session_end` registers."""

    def __call__(self, ctx: Context, user_id: UUID, session_id: UUID, *, disowned: bool) -> None:
        """``disowned``: as of `ended`."""


AT_SESSION_END = Registered[AtEnd]("functions for the end of a browser session")


def ended(
    ctx: Context,
    user_id: UUID,
    session_id: UUID,
    cause: Cause | None = None,
    *,
    disowned: bool = False,
) -> None:
    """Note that the row of this session was deleted because a person has ended it.

    ``disowned``: by someone who does not want what was done in it: from another sign-in, or with
    the identity that began it. Then nothing that comes from the session goes on.

    Call it in the transaction that has deleted the row. Not for a session that was idle or old for
    too long.
    """
    details = details_of(cause, session=str(session_id))
    record(ctx, Event.SESSION_ENDED, user_id=user_id, details=details)
    for function in AT_SESSION_END.of(ctx.services).values():
        function(ctx, user_id, session_id, disowned=disowned)


class RenewedSession(NamedTuple):
    """The new key of a session, for the cookie."""

    key: str
    remember: bool


class BegunSession(NamedTuple):
    """A session that has begun: its key, for the cookie, its user, and what it was begun for."""

    key: str
    user_id: uuid.UUID
    target: Target


def sign_in(
    ctx: Context, username: str, password: str, target: Target, *, former_key: str | None
) -> BegunSession | Pending:
    """Log in with a browser and begin a session (see `begin`), or a pending login.

    The language of the page becomes that of the user's mails, unless one is stored already: a thief
    must not change the language of the warnings to the owner. Raises `WrongCredentials`, and what
    `gate.sign_in` raises.
    """
    given = {"username": username, "password": password}
    done = gate.sign_in(ctx, PASSWORD, given, target)
    if done is None:
        raise WrongCredentials(ctx.settings.login_identifiers)
    if isinstance(done, Pending):
        return mail_code.wait(ctx, done)
    begun = enter(ctx, done, former_key=former_key)
    if begun is None:
        raise WrongCredentials(ctx.settings.login_identifiers)
    return begun


def resume(
    ctx: Context,
    key: str | None,
    method: str,
    given: Mapping[str, str],
    *,
    former_key: str | None,
) -> BegunSession | Pending | Wrong:
    """Begin a session with a further proof of the pending login ``key``; see `gate.resume`.

    Raises what `gate.resume` raises; `PendingEnded` also if the user's epoch was raised since then.
    """
    done = gate.resume(ctx, key, method, given)
    if not isinstance(done, Complete):
        return done
    begun = enter(ctx, done, former_key=former_key)
    if begun is None:
        raise gate.PendingEnded
    return begun


def enter(ctx: Context, done: Complete, *, former_key: str | None) -> BegunSession | None:
    """`begin` for the user of a browser, whose language is stored unless one is already."""
    key = begin(ctx, done, remember=done.target.remember, former_key=former_key)
    if key is None:
        return None
    users.set_language(ctx, done.account.id, ctx.request_info.language, only_first=True)
    return BegunSession(key, done.account.id, done.target)


def begin(
    ctx: Context, done: Complete, *, remember: bool, former_key: str | None = None
) -> str | None:
    """Begin a session for a sign-in that was just completed; its key, for the cookie.

    Where ``former_key`` opens an active session of the same user, that one goes on, with the same
    id, under the new key, so that a reauthentication does not sign the user out of what belongs to
    the session. Any other session of the browser is ended (ASVS 7.2.4).
    Returns None if the user was disabled, or the user's epoch was raised, since the check.
    """
    account = done.account
    # Not FOR SHARE: two sign-ins that hold it and then write the row would wait for each other.
    still_valid = (
        select(User.last_sign_in_at)
        .where(User.id == account.id, *unchanged_since(account.epoch))
        .with_for_update(key_share=True)
    )
    valid = ctx.db.execute(still_valid).one_or_none()
    if valid is None:
        return None
    key = secrets.token_urlsafe(32)
    values = _values(ctx, done, key, remember=remember)
    session_id = former_key and _go_on(ctx, account.id, former_key, values)
    if not session_id:
        if former_key:
            _end_former(ctx, former_key)
        session_id = uuid.uuid4()
        row = BrowserSession(
            id=session_id, user_id=account.id, created_at=values["used_at"], **values
        )
        ctx.db.add(row)
    details = {"session": str(session_id), "amr": " ".join(done.amr)}
    record(ctx, Event.SESSION_BEGUN, user_id=account.id, details=details)
    users.note_sign_in(ctx, account.id, valid.last_sign_in_at, values["used_at"])
    if done.notify:
        notices.send_new_device(ctx, account, session_id)
    return key


def _values(ctx: Context, done: Complete, key: str, *, remember: bool) -> dict[str, Any]:
    """The columns that a sign-in writes, also into the row of a session that goes on."""
    cfg, now = ctx.settings, clock.now()
    ends_at = _ends_at(ctx, done, now)
    expires_at = now + (cfg.session_remember if remember else cfg.session_lifetime)
    return {
        "key_hash": _row_hash(ctx, key),
        "user_epoch": done.account.epoch,
        "remember": remember,
        "used_at": now,
        "expires_at": min(expires_at, ends_at or expires_at),
        "address": ctx.request_info.address,
        "agent": ctx.request_info.agent,
        "facts": credentials.pack(done.amr),
        "auth_at": done.auth_at,
        "recognized": done.recognized,
        "identity_id": done.target.identity_id,
        "ends_at": ends_at,
    }


def _ends_at(ctx: Context, done: Complete, now: datetime) -> datetime | None:
    """When nothing that comes from this sign-in may last any longer: `session-expires-in`.

    It counts from the time at which the person has signed in to the provider. Where that is too
    long ago already, or not known, it counts from now: the provider has just said that the person
    may go on.
    """
    identity_id = done.target.identity_id
    if identity_id is None:
        return None
    name = ctx.db.scalar(select(Identity.provider).where(Identity.id == identity_id))
    provider = ctx.settings.provider(name) if name else None
    longest = provider.session_expires_in if provider else None
    if longest is None:
        return None
    since = proved_at(done.amr, done.auth_at) or now
    return since + longest if since + longest > now else now + longest


def _go_on(
    ctx: Context, user_id: uuid.UUID, former_key: str, values: dict[str, Any]
) -> uuid.UUID | None:
    """Give the active session of this key and user the ``values``; its id, if there is one."""
    now, idle = values["used_at"], values["used_at"] - ctx.settings.session_idle
    session_id: uuid.UUID | None = ctx.db.scalar(
        update(BrowserSession)
        .where(
            BrowserSession.key_hash == _row_hash(ctx, former_key),
            BrowserSession.user_id == user_id,
            BrowserSession.user_epoch == values["user_epoch"],
            BrowserSession.expires_at > now,
            or_(BrowserSession.remember, BrowserSession.used_at > idle),
        )
        .values(values)
        .returning(BrowserSession.id)
        .execution_options(synchronize_session=False)
    )
    return session_id


def renew(
    ctx: Context, user_id: uuid.UUID, session_id: uuid.UUID, epoch: int
) -> RenewedSession | None:
    """Exempt one session from a raised epoch, under a new key (OWASP, session fixation).

    ``epoch``: the user's new one. Returns None unless the session is the user's and was active:
    its epoch must be the previous one.
    """
    key = secrets.token_urlsafe(32)
    remember = ctx.db.scalar(
        update(BrowserSession)
        .where(
            BrowserSession.id == session_id,
            BrowserSession.user_id == user_id,
            BrowserSession.user_epoch == epoch - 1,
        )
        .values(user_epoch=epoch, key_hash=_row_hash(ctx, key))
        .returning(BrowserSession.remember)
        .execution_options(synchronize_session=False)
    )
    return None if remember is None else RenewedSession(key, remember)


def confirm(
    ctx: Context,
    account: Account,
    session_id: uuid.UUID,
    amr: tuple[str, ...],
    at: datetime,
    *,
    whole: bool = True,
) -> RenewedSession | None:
    """Note that the user has proved again, ``at`` that moment and by ``amr``, to be who they are.

    ``whole``: this is all that the sign-in rests on, whose ``amr`` and time it becomes; otherwise
    another proof is missing. The session goes on under a new key. Returns None if it has ended.
    """
    proved = {"facts": credentials.pack(amr), "auth_at": at} if whole else {}
    return renew_proved(ctx, account, session_id, {"confirmed_at": at, **proved})


def renew_proved(
    ctx: Context, account: Account, session_id: uuid.UUID, values: dict[str, Any]
) -> RenewedSession | None:
    """Write the ``values`` of a proof into a session, under a new key; None if it has ended."""
    key = secrets.token_urlsafe(32)
    remember = ctx.db.scalar(
        update(BrowserSession)
        .where(
            BrowserSession.id == session_id,
            BrowserSession.user_id == account.id,
            BrowserSession.user_epoch == account.epoch,
        )
        .values(key_hash=_row_hash(ctx, key), **values)
        .returning(BrowserSession.remember)
        .execution_options(synchronize_session=False)
    )
    return None if remember is None else RenewedSession(key, remember)


def begun_with(ctx: Context, user_id: uuid.UUID, identity_id: uuid.UUID) -> Sequence[uuid.UUID]:
    """The ids of the user's sessions that began with this identity."""
    return ctx.db.scalars(
        select(BrowserSession.id).where(
            BrowserSession.user_id == user_id, BrowserSession.identity_id == identity_id
        )
    ).all()


def end(
    ctx: Context,
    user_id: uuid.UUID,
    session_id: uuid.UUID,
    cause: Cause | None = None,
    *,
    disowned: bool = False,
) -> bool:
    """End one session of this user; whether there was one. ``disowned``: as of `ended`."""
    deleted = ctx.db.scalar(
        delete(BrowserSession)
        .where(BrowserSession.id == session_id, BrowserSession.user_id == user_id)
        .returning(BrowserSession.id)
        .execution_options(synchronize_session=False)
    )
    if deleted is None:
        return False
    ended(ctx, user_id, session_id, cause, disowned=disowned)
    return True


def list_active(
    ctx: Context, user_id: uuid.UUID, current: uuid.UUID | None, limit: int
) -> Sequence[BrowserSession]:
    """At most ``limit`` active sessions of a user: ``current`` first, then by last use."""
    now = clock.now()
    idle = BrowserSession.used_at <= now - ctx.settings.session_idle
    return ctx.db.scalars(
        select(BrowserSession)
        .join(User, ACTIVE_USER)
        .where(
            BrowserSession.user_id == user_id,
            BrowserSession.expires_at > now,
            or_(BrowserSession.remember, ~idle),
        )
        .order_by(BrowserSession.id != current, BrowserSession.used_at.desc())
        .limit(limit)
    ).all()


def _row_hash(ctx: Context, key: str) -> str:
    return row_hash(key, shared=ctx.settings.session_cookie_domain is not None)


def _end_former(ctx: Context, key: str) -> None:
    former = ctx.db.execute(
        delete(BrowserSession)
        .where(BrowserSession.key_hash == _row_hash(ctx, key))
        .returning(BrowserSession.id, BrowserSession.user_id)
        .execution_options(synchronize_session=False)
    ).one_or_none()
    if former:
        ended(ctx, former.user_id, former.id)


# A signed-in user proves again, in the same browser session, to be who they are.


def step_up(
    ctx: Context,
    account: Account,
    session_id: uuid.UUID,
    amr: tuple[str, ...],
    auth_at: datetime,
    confirmed_at: datetime | None,
) -> RenewedSession | None:
    """Write how and when the user has proved to be who they are, and record it.

    The session goes on under a new key, with the same id. Returns None if it has ended.
    """
    values = {"facts": credentials.pack(amr), "auth_at": auth_at, "confirmed_at": confirmed_at}
    renewed = renew_proved(ctx, account, session_id, values)
    if renewed is not None:
        details = {"session": str(session_id), "amr": " ".join(amr)}
        record(ctx, Event.LOGIN_STEPPED_UP, user_id=account.id, details=details)
    return renewed
