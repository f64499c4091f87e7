"""Delete browser sessions that have ended."""

from collections.abc import Iterator
from datetime import datetime

from sqlalchemy import Connection, or_

from authsite.platform.db.batches import Batch
from authsite.platform.db.table_scan import sweep_table
from authsite.platform.settings import Settings

from .models import BrowserSession


def purge(connection: Connection, now: datetime, cfg: Settings) -> Iterator[Batch]:
    """Delete sessions that were idle or old for too long."""
    idle = BrowserSession.remember.is_(False) & (BrowserSession.used_at <= now - cfg.session_idle)
    return sweep_table(connection, BrowserSession, or_(BrowserSession.expires_at <= now, idle))
