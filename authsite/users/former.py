"""Confirmed addresses that users had before a change of address that can be taken back.

Until a row expires, no other user can take its address, so that the change can still be taken back.

A change can be taken back only if the former address had been confirmed for some time when the
change was requested (`may_restore`). Otherwise a person could register an account, change its
address to another person's, who confirms it, resets the password and uses the account, and then
take the account back with everything in it (account pre-hijacking).
"""

from collections.abc import Iterable, Iterator, Sequence
from datetime import datetime, timedelta
from typing import NamedTuple
from uuid import UUID

from sqlalchemy import ColumnElement, Connection, bindparam, delete, func, select, update
from sqlalchemy.orm import Session

from authsite.platform.db import Database, PreparedQuery
from authsite.platform.db.batches import Batch
from authsite.platform.db.table_scan import sweep_table
from authsite.platform.runtime import clock
from authsite.platform.settings import Settings

from .models import FormerAddress, User

MAX_LISTED = 5


class Reserved(NamedTuple):
    """A reserved login name."""

    key: str


RESERVED = PreparedQuery(
    select(FormerAddress.key)
    .where(
        FormerAddress.key == bindparam("key"),
        FormerAddress.user_id != bindparam("user_id"),
        FormerAddress.expires_at > bindparam("now"),
    )
    .distinct(),  # the user may have left the address more than once
    Reserved,
)


def is_reserved_apart(database: Database, key: str, user_id: UUID) -> bool:
    """Whether ``key`` is reserved for another user than ``user_id``; outside the transaction."""
    return RESERVED.one(database, key=key, user_id=user_id, now=clock.now()) is not None


class Restorable(NamedTuple):
    """An address that can be restored, and until when."""

    email: str
    expires_at: datetime


RESTORABLE = PreparedQuery(
    select(FormerAddress.email, FormerAddress.expires_at)
    .where(
        FormerAddress.user_id == bindparam("user_id"), FormerAddress.expires_at > bindparam("now")
    )
    .order_by(FormerAddress.expires_at.desc()),
    Restorable,
)


def may_restore(user: User, min_age: timedelta) -> bool:
    """Whether the present address may take back the change that is pending.

    ``min_age``: how long it must have been confirmed when the change was requested (setting
    `email-revert-min-age`). One that is not pending is requested now.
    """
    asked_at = user.pending_asked_at or clock.now()
    return user.email_verified_at is not None and user.email_verified_at + min_age <= asked_at


def find_restorable(database: Database, user_id: UUID) -> Restorable | None:
    """The address of the user that can be restored for the longest time, if there is one."""
    return RESTORABLE.one(database, user_id=user_id, now=clock.now())


class Left(NamedTuple):
    """The changes from one address that can still be taken back, of which there may be several.

    ``epoch``: that of the first. ``links_ended_at``: the latest of this address. ``confirmed_at``:
    since when the address was the user's, as far as is known.
    """

    epoch: int
    links_ended_at: datetime | None
    confirmed_at: datetime | None


def _restorable(user_id: UUID) -> tuple[ColumnElement[bool], ...]:
    """Conditions for the user's changes that can still be taken back."""
    return FormerAddress.user_id == user_id, FormerAddress.expires_at > clock.now()


def find_left(db: Session, user_id: UUID, key: str) -> Left | None:
    """The user's changes from the address ``key`` that can still be taken back."""
    epoch, *times = db.execute(
        select(
            func.min(FormerAddress.epoch),
            func.max(FormerAddress.links_ended_at),
            func.min(FormerAddress.confirmed_at),
        ).where(*_restorable(user_id), FormerAddress.key == key)
    ).one()
    return None if epoch is None else Left(epoch, *times)


def list_first(db: Session, user_id: UUID) -> Sequence[FormerAddress]:
    """The user's addresses that can still be restored, at most `MAX_LISTED`: the oldest first."""
    return db.scalars(
        select(FormerAddress)
        .where(*_restorable(user_id))
        .order_by(FormerAddress.epoch)
        .limit(MAX_LISTED)
    ).all()


def find_keys(db: Session, user_id: UUID) -> Sequence[str]:
    """The keys of all addresses of the user that can still be restored."""
    return db.scalars(select(FormerAddress.key).where(*_restorable(user_id)).distinct()).all()


def find(db: Session, id_: UUID) -> FormerAddress | None:
    """The former address of this change; None if it has expired, or the user is disabled."""
    return db.scalar(
        select(FormerAddress)
        .join(User, User.id == FormerAddress.user_id)
        .where(
            FormerAddress.id == id_,
            FormerAddress.expires_at > clock.now(),
            User.disabled_at.is_(None),
        )
    )


def find_reserved(db: Session, keys: Iterable[str], user_id: UUID | None = None) -> Sequence[str]:
    """The ``keys`` that are reserved for another user than ``user_id``.

    Call it after the login names are inserted: a change of address that has released a name in the
    meantime is then visible.
    """
    reserved = select(FormerAddress.key).where(
        FormerAddress.key.in_(list(keys)), FormerAddress.expires_at > clock.now()
    )
    if user_id:
        reserved = reserved.where(FormerAddress.user_id != user_id)
    return db.scalars(reserved).all()


def end_since(db: Session, former: FormerAddress) -> bool:
    """Delete ``former`` and those of later changes; return whether ``former`` was still there.

    A change that follows one which is taken back may be the work of the same intruder.
    """
    ended = db.scalars(
        delete(FormerAddress)
        .where(FormerAddress.user_id == former.user_id, FormerAddress.epoch >= former.epoch)
        .returning(FormerAddress.id)
        .execution_options(synchronize_session=False)
    ).all()
    return former.id in ended


def end_returned(db: Session, user_id: UUID, key: str) -> Left | None:
    """The changes by which the user, who takes ``key`` again, left it, if any can be taken back.

    The links of all changes in between end, as if that change was taken back: an intruder may have
    made them.
    """
    left = find_left(db, user_id, key)
    if left is not None:
        _delete(db, FormerAddress.user_id == user_id, FormerAddress.epoch > left.epoch)
    return left


def end_links(db: Session, user_id: UUID, key: str) -> None:
    """End the links "This was not me" that were mailed to the former address ``key``."""
    db.execute(
        update(FormerAddress)
        .where(FormerAddress.user_id == user_id, FormerAddress.key == key)
        .values(links_ended_at=clock.now())
        .execution_options(synchronize_session=False)
    )


def end_all(db: Session, user_id: UUID) -> None:
    """End every link that takes a change of the user back, and free the addresses."""
    _delete(db, FormerAddress.user_id == user_id)


def purge(connection: Connection, now: datetime, _cfg: Settings) -> Iterator[Batch]:
    """Delete former addresses that no link can restore any more."""
    return sweep_table(connection, FormerAddress, FormerAddress.expires_at <= now)


def _delete(db: Session, *conditions: ColumnElement[bool]) -> None:
    db.execute(
        delete(FormerAddress).where(*conditions).execution_options(synchronize_session=False)
    )
