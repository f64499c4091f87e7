"""Deleting web sessions that have ended, in batches that hold no lock for long."""

from collections.abc import Iterator
from datetime import datetime

from sqlalchemy import ColumnElement, delete, func, or_, select

from authsite.db import Database

from .models import WebSession
from .sessions import IDLE

BATCH = 5000  # rows deleted in one transaction


def count(database: Database, now: datetime) -> int:
    """How many sessions there are to delete."""
    statement = select(func.count()).select_from(WebSession).where(_ended(now))
    with database.reader.connect() as connection:
        return connection.scalar(statement) or 0


def purge(database: Database, now: datetime) -> Iterator[tuple[int, int]]:
    """Delete sessions that were idle or old for too long; yields (looked at, deleted)."""
    batch = select(WebSession.id).where(_ended(now)).limit(BATCH)
    gone = BATCH
    while gone == BATCH:
        with database.writer.begin() as connection:
            gone = connection.execute(delete(WebSession).where(WebSession.id.in_(batch))).rowcount
        yield gone, gone


def _ended(now: datetime) -> ColumnElement[bool]:
    idle = WebSession.remember.is_(False) & (WebSession.used_at <= now - IDLE)
    return or_(WebSession.expires_at <= now, idle)
