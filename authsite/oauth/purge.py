"""Deleting families that can never be used again, in batches that hold no lock for long."""

from collections.abc import Iterator
from datetime import datetime, timedelta
from uuid import UUID

from sqlalchemy import delete, func, or_, select

from authsite.db import Database
from authsite.settings import Settings

from .models import Family

BATCH = 5000  # rows looked at in one transaction
KEEP_REVOKED = timedelta(days=7)  # for whoever looks into what happened


def count(database: Database) -> int:
    """How many families there are."""
    with database.reader.connect() as connection:
        return connection.scalar(select(func.count()).select_from(Family)) or 0


def purge(database: Database, now: datetime, cfg: Settings) -> Iterator[tuple[int, int]]:
    """Delete expired and long-revoked families; yields (looked at, deleted) for each batch.

    Walks the primary key, so it can be stopped and started again at will. A token of a deleted
    family finds no row and is refused like one that never was.
    """
    expired_before = now - max(timedelta(0), cfg.expires_in - cfg.refresh_expires_in)
    dead = or_(
        Family.refresh_expires_at <= expired_before,
        Family.revoked_at <= now - KEEP_REVOKED,
    )
    after = UUID(int=0)
    while True:
        with database.writer.begin() as connection:
            ids = connection.scalars(
                select(Family.id).where(Family.id > after).order_by(Family.id).limit(BATCH)
            ).all()
            if not ids:
                return
            gone = connection.execute(
                delete(Family).where(Family.id > after, Family.id <= ids[-1], dead)
            ).rowcount
        after = ids[-1]
        yield len(ids), gone
