"""Delete authorization codes a day after their end: until then a second use is noticed."""

from collections.abc import Iterator
from datetime import datetime, timedelta

from sqlalchemy import Connection

from authsite.platform.db.batches import Batch
from authsite.platform.db.table_scan import sweep_table
from authsite.platform.settings import Settings

from .models import AuthorizationCode

KEEP = timedelta(hours=24)


def purge(connection: Connection, now: datetime, cfg: Settings) -> Iterator[Batch]:
    """Delete codes that expired a day ago, used or not."""
    return sweep_table(connection, AuthorizationCode, AuthorizationCode.expires_at <= now - KEEP)
