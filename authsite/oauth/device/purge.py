"""Delete device codes a day after their end, as authorization codes."""

from collections.abc import Iterator
from datetime import datetime

from sqlalchemy import Connection

from authsite.oauth.codes.purge import KEEP
from authsite.platform.db.batches import Batch
from authsite.platform.db.table_scan import sweep_table
from authsite.platform.settings import Settings

from .models import DeviceCode


def purge(connection: Connection, now: datetime, _cfg: Settings) -> Iterator[Batch]:
    """Delete codes that expired a day ago, answered or not."""
    return sweep_table(connection, DeviceCode, DeviceCode.expires_at <= now - KEEP)
