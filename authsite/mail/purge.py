"""Deleting letters that have ended."""

from collections.abc import Iterator
from datetime import datetime, timedelta

from sqlalchemy import Connection, and_, or_

from authsite.db.batches import Batch
from authsite.db.places import sweep_table
from authsite.settings import Settings

from .models import Outgoing

KEEP = timedelta(days=7)  # for whoever asks whether a mail was sent
KEEP_DEAD = timedelta(days=30)  # for `authsite mail retry`


def purge(connection: Connection, now: datetime, _cfg: Settings) -> Iterator[Batch]:
    """Delete letters that were sent or dropped a week ago, and those that died a month ago."""
    over = or_(
        and_(Outgoing.state.in_(("sent", "expired")), Outgoing.ended_at <= now - KEEP),
        and_(Outgoing.state == "dead", Outgoing.ended_at <= now - KEEP_DEAD),
    )
    return sweep_table(connection, Outgoing, over)
