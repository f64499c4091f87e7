"""The change of address that a user has requested and not completed.

It ends when the user's epoch is raised or another sign-in of the user ends: an intruder who was
signed in there may have requested it.
"""

from datetime import datetime
from typing import NamedTuple
from uuid import UUID

from sqlalchemy import and_, bindparam, case, select, update
from sqlalchemy.orm import Session

from authsite.platform.db import Database, PreparedQuery
from authsite.platform.runtime import clock

from .errors import SignInEnded
from .models import User, unchanged_since


class Pending(NamedTuple):
    """The requested address, and when its link expires.

    ``by_link``: an administrator asked for it, and its link alone completes it. What the user asked
    for is completed by the user alone, signed in: who reads the new mailbox may be another person,
    who would own the account from then on.
    """

    email: str
    expires_at: datetime
    by_link: bool


# The columns of a user without a pending change.
NONE: dict[str, None] = {
    "pending_email": None,
    "pending_epoch": None,
    "pending_expires_at": None,
    "pending_asked_at": None,
}

# The epoch is compared too: a statement may raise it without clearing these columns.
EXISTS = and_(User.pending_epoch == User.epoch, User.disabled_at.is_(None))
EMAIL = case((EXISTS, User.pending_email)).label("pending_email")


_FIND = select(
    User.pending_email.label("email"),
    User.pending_expires_at.label("expires_at"),
    User.pending_by_link.label("by_link"),
).where(User.id == bindparam("user_id"), EXISTS, User.pending_expires_at > bindparam("now"))
PENDING = PreparedQuery(_FIND, Pending)


def find(db: Session, user_id: UUID) -> Pending | None:
    """The pending change of a user, unless its link has expired."""
    row = db.execute(_FIND, {"user_id": user_id, "now": clock.now()}).one_or_none()
    return Pending._make(row) if row else None


def find_apart(database: Database, user_id: UUID) -> Pending | None:
    """`find` as a prepared query, outside the transaction."""
    return PENDING.one(database, user_id=user_id, now=clock.now())


def begin(
    db: Session, user_id: UUID, epoch: int, email: str, expires_at: datetime, *, by_link: bool
) -> str:
    """Make ``email`` the pending address instead of an earlier one; return the present address.

    Raises `SignInEnded` unless ``epoch``, read when the password was checked, is still the user's.
    """
    now = clock.now()
    present = db.scalar(
        update(User)
        .where(User.id == user_id, *unchanged_since(epoch))
        .values(
            pending_email=email,
            pending_epoch=epoch,
            pending_expires_at=expires_at,
            pending_asked_at=now,
            pending_by_link=by_link,
            updated_at=now,
        )
        .returning(User.email)
        .execution_options(synchronize_session=False)
    )
    if present is None:
        raise SignInEnded
    return present


def prolong(db: Session, user_id: UUID, expires_at: datetime) -> str | None:
    """Extend the pending change until ``expires_at``; return its address, None without a change."""
    return db.scalar(
        update(User)
        .where(User.id == user_id, EXISTS, User.pending_expires_at > clock.now())
        .values(pending_expires_at=expires_at)
        .returning(User.pending_email)
        .execution_options(synchronize_session=False)
    )


def end(db: Session, user_id: UUID) -> bool:
    """End the pending change; return whether there was one."""
    ended = db.scalar(
        update(User)
        .where(User.id == user_id, User.pending_email.is_not(None))
        .values(NONE)
        .returning(User.id)
        .execution_options(synchronize_session=False)
    )
    return ended is not None
