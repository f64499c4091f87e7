"""Deleting counters whose window is over, in batches that hold no lock for long."""

from collections.abc import Iterator
from datetime import datetime

from sqlalchemy import func, select

from authsite.db import Database

from .models import LimitCounter
from .storage import sweep

BATCH = 5000  # rows deleted in one transaction


def count(database: Database, now: datetime) -> int:
    """How many counters there are to delete."""
    statement = select(func.count()).where(LimitCounter.expires_at <= now)
    with database.reader.connect() as connection:
        return connection.scalar(statement) or 0


def purge(database: Database, now: datetime) -> Iterator[tuple[int, int]]:
    """Delete counters whose window is over; yields (looked at, deleted) for each batch.

    Goes by the index on the end of the window, so it can be stopped and started again at will.
    """
    gone = BATCH
    while gone == BATCH:
        with database.writer.begin() as connection:
            gone = connection.execute(sweep(BATCH), {"now": now}).rowcount
        yield gone, gone
