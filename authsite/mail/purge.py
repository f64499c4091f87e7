"""Delete old rows of the outbox."""

from collections.abc import Iterator
from datetime import datetime, timedelta

from sqlalchemy import Connection, and_, or_

from authsite.db.batches import Batch
from authsite.db.table_scan import sweep_table
from authsite.settings import Settings

from .models import OutboxMessage

KEEP = timedelta(days=7)  # to answer whether a mail was sent
KEEP_DEAD = timedelta(days=30)  # for `authsite mail retry`


def purge(connection: Connection, now: datetime, _cfg: Settings) -> Iterator[Batch]:
    """Delete mails that were sent or dropped a week ago, or are dead since a month."""
    over = or_(
        and_(OutboxMessage.state.in_(("sent", "expired")), OutboxMessage.ended_at <= now - KEEP),
        and_(OutboxMessage.state == "dead", OutboxMessage.ended_at <= now - KEEP_DEAD),
    )
    return sweep_table(connection, OutboxMessage, over)
