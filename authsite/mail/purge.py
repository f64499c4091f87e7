"""Deleting letters that have ended, in batches that hold no lock for long."""

from collections.abc import Iterator
from datetime import datetime, timedelta
from uuid import UUID

from sqlalchemy import and_, delete, func, or_, select

from authsite.db import Database

from .models import Outgoing

BATCH = 5000  # rows looked at in one transaction
KEEP = timedelta(days=7)  # for whoever asks whether a mail was sent
KEEP_DEAD = timedelta(days=30)  # for `authsite mail retry`


def count(database: Database) -> int:
    """How many rows the outbox has."""
    with database.reader.connect() as connection:
        return connection.scalar(select(func.count()).select_from(Outgoing)) or 0


def purge(database: Database, now: datetime) -> Iterator[tuple[int, int]]:
    """Delete letters that ended a week (dead ones: a month) ago; yields (looked at, deleted).

    Walks the primary key, so it can be stopped and started again at will.
    """
    over = or_(
        and_(Outgoing.state.in_(("sent", "expired")), Outgoing.ended_at <= now - KEEP),
        and_(Outgoing.state == "dead", Outgoing.ended_at <= now - KEEP_DEAD),
    )
    after = UUID(int=0)
    while True:
        with database.writer.begin() as connection:
            ids = connection.scalars(
                select(Outgoing.id).where(Outgoing.id > after).order_by(Outgoing.id).limit(BATCH)
            ).all()
            if not ids:
                return
            gone = connection.execute(
                delete(Outgoing).where(Outgoing.id > after, Outgoing.id <= ids[-1], over)
            ).rowcount
        after = ids[-1]
        yield len(ids), gone
