"""Sealed values that may be used once: the digest of each one that was used, until it expires."""

from collections.abc import Iterator
from datetime import datetime
from hashlib import sha256
from typing import TYPE_CHECKING

from sqlalchemy import Connection, String, select
from sqlalchemy.dialects.postgresql import insert as postgresql_insert
from sqlalchemy.dialects.sqlite import insert as sqlite_insert
from sqlalchemy.orm import Mapped, Session, mapped_column

from authsite.platform.db.base import Base
from authsite.platform.db.batches import Batch, sweep_table
from authsite.platform.runtime import clock
from authsite.platform.settings import Settings

if TYPE_CHECKING:
    from pyramid.config import Configurator


# The table of sealed values that were used.


class UsedId(Base):
    """A sealed value that may be used once was used. ``digest``: its SHA-256 in hex.

    After ``expires_at`` the value is rejected without this row.
    """

    __tablename__ = "used_ids"

    digest: Mapped[str] = mapped_column(String(64), primary_key=True)
    expires_at: Mapped[datetime]


# Use up a sealed value, and delete the rows of values that have expired.


def spend(db: Session, value: str, expires_at: datetime) -> bool:
    """Use ``value`` up in the transaction of ``db``; False if it was used before.

    Of concurrent transactions one succeeds: the others wait for its end. If it is rolled back, the
    value can be used again.
    """
    insert = sqlite_insert if db.get_bind().dialect.name == "sqlite" else postgresql_insert
    used = db.execute(
        insert(UsedId)
        .values(digest=_digest(value), expires_at=expires_at)
        .on_conflict_do_nothing()
        .returning(UsedId.digest)
    )
    return used.scalar() is not None


def was_spent(db: Session, value: str) -> bool:
    """Whether ``value`` was used up, and its ``expires_at`` has not passed."""
    used = select(UsedId.digest).where(
        UsedId.digest == _digest(value), UsedId.expires_at > clock.now()
    )
    return db.scalar(used) is not None


def purge(connection: Connection, now: datetime, _cfg: Settings) -> Iterator[Batch]:
    """Delete the rows of values that have expired."""
    return sweep_table(connection, UsedId, UsedId.expires_at <= now)


def _digest(value: str) -> str:
    return sha256(value.encode(errors="replace")).hexdigest()


def includeme(config: "Configurator") -> None:
    """The cleanup."""
    config.add_cleanup("used_ids", "Used sealed values", purge, when="expired")
