"""Web sessions: begin at login, find by cookie, end.

A session lives while its row does, until it was idle or old for too long, and while the epoch
copied into it is the user's: raising the epoch ends all of a user's sessions at once.
"""

import secrets
import uuid
from datetime import datetime, timedelta
from hashlib import sha256
from typing import Any, cast

from sqlalchemy import Table, and_, bindparam, delete, select
from sqlalchemy.orm import Session

from authsite.audit.service import record
from authsite.db import Database
from authsite.http.source import Source
from authsite.users.account import COLUMNS, Account
from authsite.users.models import User

from .models import WebSession
from .uses import Uses

IDLE = timedelta(hours=12)
ABSOLUTE = timedelta(days=30)
REMEMBERED = timedelta(days=90)  # both limits of "stay signed in"
SOON = timedelta(minutes=3)  # more than a note of use waits to be written

TABLE = cast(Table, WebSession.__table__)

_LIVE = (
    select(WebSession.id, WebSession.used_at, WebSession.remember, WebSession.expires_at, *COLUMNS)
    .join(
        User,
        and_(
            User.id == WebSession.user_id,
            User.epoch == WebSession.user_epoch,
            User.disabled_at.is_(None),
        ),
    )
    .where(WebSession.key_hash == bindparam("key_hash"))
)


def key_hash(key: str) -> str:
    """What is stored of a session key: SHA-256 in hex, enough for 256 random bits."""
    return sha256(key.encode(errors="replace")).hexdigest()


def begin(
    db: Session, now: datetime, source: Source, account: Account, *, remember: bool
) -> str | None:
    """A new session for a login that was just checked; the key for the cookie.

    None if the user's epoch was raised (or the user disabled) since the check.
    """
    still = (
        select(User.id)
        .where(User.id == account.id, User.epoch == account.epoch, User.disabled_at.is_(None))
        .with_for_update(read=True)
    )
    if db.scalar(still) is None:
        return None
    key = secrets.token_urlsafe(32)
    session = WebSession(
        id=uuid.uuid4(),
        key_hash=key_hash(key),
        user_id=account.id,
        user_epoch=account.epoch,
        remember=remember,
        created_at=now,
        used_at=now,
        expires_at=now + (REMEMBERED if remember else ABSOLUTE),
        address=source.address,
        agent=source.agent,
    )
    db.add(session)
    record(
        db, now, source, "session.begun", user_id=account.id, details={"session": str(session.id)}
    )
    return key


def find_live(
    database: Database, uses: Uses, key: str, now: datetime
) -> tuple[uuid.UUID, Account] | None:
    """The session behind a cookie and its user, or None; notes that it is used."""
    row = database.points.read(_LIVE, {"key_hash": key_hash(key)})
    if row is None:
        return None
    session_id, used_at, remember, expires_at, *account = row
    idle_at = expires_at if remember else used_at + IDLE
    if expires_at <= now or idle_at <= now:
        return None
    # Just before its end another process must hear of the use at once.
    uses.note(TABLE, session_id, used_at, now, urgent=idle_at <= now + SOON)
    return session_id, Account(*account)


def end(db: Session, now: datetime, source: Source, user_id: uuid.UUID, id: uuid.UUID) -> bool:
    """End one session of this user; whether there was one."""
    gone: Any = db.execute(
        delete(WebSession).where(WebSession.id == id, WebSession.user_id == user_id)
    )
    if gone.rowcount:
        record(db, now, source, "session.ended", user_id=user_id, details={"session": str(id)})
    return bool(gone.rowcount)


def listing(db: Session, now: datetime, user_id: uuid.UUID) -> list[WebSession]:
    """The living sessions of a user, the last used one first."""
    rows = db.scalars(
        select(WebSession)
        .join(User, and_(User.id == WebSession.user_id, User.epoch == WebSession.user_epoch))
        .where(WebSession.user_id == user_id, WebSession.expires_at > now)
        .order_by(WebSession.used_at.desc())
    )
    return [row for row in rows if row.remember or row.used_at + IDLE > now]
