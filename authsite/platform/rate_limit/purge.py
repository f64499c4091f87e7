"""Delete expired counters."""

from collections.abc import Iterator
from datetime import datetime

from sqlalchemy import Connection

from authsite.platform.db.batches import Batch, sweep_index
from authsite.platform.settings import Settings

from .models import LimitCounter


def purge(connection: Connection, now: datetime, _cfg: Settings) -> Iterator[Batch]:
    """Delete counters whose window is over."""
    return sweep_index(connection, LimitCounter.key, LimitCounter.expires_at, now)
