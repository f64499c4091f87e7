"""Delete signing keys a year after they have signed."""

from collections.abc import Iterator
from datetime import datetime

from sqlalchemy import Connection

from authsite.platform.db.batches import Batch
from authsite.platform.db.table_scan import sweep_table
from authsite.platform.settings import Settings

from .models import SigningKey
from .stored import KNOWN_FOR


def purge(connection: Connection, now: datetime, _cfg: Settings) -> Iterator[Batch]:
    """Delete the keys that have not signed for a year: no token of theirs is known any more."""
    return sweep_table(connection, SigningKey, SigningKey.previous_at <= now - KNOWN_FOR)
