"""Deleting web sessions that have ended."""

from collections.abc import Iterator
from datetime import datetime

from sqlalchemy import Connection, or_

from authsite.db.batches import Batch
from authsite.db.places import sweep_table
from authsite.settings import Settings

from .models import WebSession
from .sessions import IDLE


def purge(connection: Connection, now: datetime, _cfg: Settings) -> Iterator[Batch]:
    """Delete sessions that were idle or old for too long."""
    idle = WebSession.remember.is_(False) & (WebSession.used_at <= now - IDLE)
    return sweep_table(connection, WebSession, or_(WebSession.expires_at <= now, idle))
