"""Deleting families that can never be used again.

A token of a deleted family finds no row and is refused like one that never was.
"""

from collections.abc import Iterator
from datetime import datetime, timedelta

from sqlalchemy import Connection, or_

from authsite.db.batches import Batch
from authsite.db.places import sweep_table
from authsite.settings import Settings

from .models import Family

KEEP_REVOKED = timedelta(days=7)  # for whoever looks into what happened


def purge(connection: Connection, now: datetime, cfg: Settings) -> Iterator[Batch]:
    """Delete families of which both tokens have expired, and those revoked a week ago."""
    # An access token may be made to outlive its refresh token.
    expired_before = now - max(timedelta(0), cfg.expires_in - cfg.refresh_expires_in)
    dead = or_(
        Family.refresh_expires_at <= expired_before,
        Family.revoked_at <= now - KEEP_REVOKED,
    )
    return sweep_table(connection, Family, dead)
