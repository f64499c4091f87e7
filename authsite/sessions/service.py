"""Browser sessions: sign in, renew, end, list."""

import secrets
import uuid
from collections.abc import Sequence
from typing import NamedTuple

from sqlalchemy import delete, or_, select, update

from authsite import clock
from authsite.audit.service import record
from authsite.context import Context
from authsite.login import notices
from authsite.login.errors import WrongCredentials
from authsite.login.service import log_in
from authsite.users import service as users
from authsite.users.account import Account
from authsite.users.models import User, unchanged_since

from .active import ACTIVE_USER
from .keys import row_hash
from .models import BrowserSession


class RenewedSession(NamedTuple):
    """The new key of a session, for the cookie."""

    key: str
    remember: bool


class SignIn(NamedTuple):
    """A session that has begun: its key, for the cookie, and its user."""

    key: str
    user_id: uuid.UUID


def sign_in(
    ctx: Context, username: str, password: str, *, remember: bool, former_key: str | None
) -> SignIn:
    """Log in with a browser and begin a session (see `begin`).

    The language of the page becomes that of the user's mails, unless one is stored already: a thief
    must not change the language of the warnings to the owner. Raises `WrongCredentials`, and what
    `log_in` raises.
    """
    account = log_in(ctx, username, password)
    notify = account is not None and notices.is_new_device(ctx, account)
    key = account and begin(ctx, account, remember=remember, former_key=former_key, notify=notify)
    if account is None or key is None:
        raise WrongCredentials(ctx.settings.login_identifiers)
    users.set_language(ctx, account.id, ctx.request_info.language, only_first=True)
    return SignIn(key, account.id)


def begin(
    ctx: Context,
    account: Account,
    *,
    remember: bool,
    former_key: str | None = None,
    notify: bool = False,
) -> str | None:
    """Begin a session for a login that was just checked; its key, for the cookie.

    The session replaces the browser's previous one, whose key is ``former_key`` (ASVS 7.2.4). With
    ``notify`` the user gets a mail about the new device.
    Returns None if the user was disabled, or the user's epoch was raised, since the check.
    """
    now, cfg = clock.now(), ctx.settings
    still_valid = (
        select(User.id)
        .where(User.id == account.id, *unchanged_since(account.epoch))
        .with_for_update(read=True)
    )
    if ctx.db.scalar(still_valid) is None:
        return None
    if former_key:
        _end_former(ctx, former_key)
    key = secrets.token_urlsafe(32)
    session = BrowserSession(
        id=uuid.uuid4(),
        key_hash=_row_hash(ctx, key),
        user_id=account.id,
        user_epoch=account.epoch,
        remember=remember,
        created_at=now,
        used_at=now,
        expires_at=now + (cfg.session_remember if remember else cfg.session_lifetime),
        address=ctx.request_info.address,
        agent=ctx.request_info.agent,
    )
    ctx.db.add(session)
    record(ctx, "session.begun", user_id=account.id, details={"session": str(session.id)})
    if notify:
        notices.send_new_device(ctx, account, session.id)
    return key


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


def end(ctx: Context, user_id: uuid.UUID, session_id: uuid.UUID) -> bool:
    """End one session of this user; whether there was one."""
    deleted = ctx.db.scalar(
        delete(BrowserSession)
        .where(BrowserSession.id == session_id, BrowserSession.user_id == user_id)
        .returning(BrowserSession.id)
        .execution_options(synchronize_session=False)
    )
    if deleted is None:
        return False
    record(ctx, "session.ended", user_id=user_id, details={"session": str(session_id)})
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
        details = {"session": str(former.id)}
        record(ctx, "session.ended", user_id=former.user_id, details=details)
