"""Delete former addresses that no link can restore any more."""

from collections.abc import Iterator
from datetime import datetime

from sqlalchemy import Connection

from authsite.db.batches import Batch
from authsite.db.table_scan import sweep_table
from authsite.settings import Settings

from .models import FormerAddress


def purge(connection: Connection, now: datetime, _cfg: Settings) -> Iterator[Batch]:
    """Delete former addresses whose time is over."""
    return sweep_table(connection, FormerAddress, FormerAddress.expires_at <= now)
