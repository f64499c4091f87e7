"""Confirmed addresses that users had before a change of address that can be taken back.

Until a row expires, no other user can take its address, so that the change can still be taken back.
"""

from collections.abc import Iterable, Iterator, Sequence
from datetime import datetime
from typing import NamedTuple
from uuid import UUID

from sqlalchemy import ColumnElement, Connection, bindparam, delete, select
from sqlalchemy.orm import Session

from authsite import clock
from authsite.db import Database, PreparedQuery
from authsite.db.batches import Batch
from authsite.db.table_scan import sweep_table
from authsite.settings import Settings

from .models import FormerAddress, User


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


def end_returned(db: Session, user_id: UUID, key: str) -> bool:
    """Whether the user, who takes ``key`` again, had it before a change that can be taken back.

    The links of all changes in between end, as if that change was taken back: an intruder may have
    made them.
    """
    first = db.scalar(
        select(FormerAddress.epoch)
        .where(
            FormerAddress.user_id == user_id,
            FormerAddress.key == key,
            FormerAddress.expires_at > clock.now(),
        )
        .order_by(FormerAddress.epoch)
        .limit(1)
    )
    if first is None:
        return False
    _delete(db, FormerAddress.user_id == user_id, FormerAddress.epoch > first)
    return True


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
