"""Delete pending logins that have ended."""

from collections.abc import Iterator
from datetime import datetime, timedelta

from sqlalchemy import Connection

from authsite.platform.db.batches import Batch
from authsite.platform.db.table_scan import sweep_table
from authsite.platform.settings import Settings

from .models import PendingLogin

KEEP = timedelta(hours=24)  # after the end, for investigations


def purge(connection: Connection, now: datetime, _cfg: Settings) -> Iterator[Batch]:
    """Delete pending logins that have expired a day ago."""
    return sweep_table(connection, PendingLogin, PendingLogin.expires_at <= now - KEEP)
