"""Delete families whose tokens are all unusable, and unusable personal access tokens.

A token whose row is deleted finds no row and is rejected like a forged one.
"""

from collections.abc import Iterator
from datetime import datetime, timedelta

from sqlalchemy import Connection, or_

from authsite.platform.db.batches import Batch, sweep_table
from authsite.platform.settings import Settings

from .models import Family, PersonalToken

KEEP_REVOKED = timedelta(days=7)  # for investigations


def purge(connection: Connection, now: datetime, cfg: Settings) -> Iterator[Batch]:
    """Delete families of which both tokens have expired, and those revoked a week ago."""
    # The settings allow an access token that outlives its refresh token.
    expired_before = now - max(timedelta(0), cfg.expires_in - cfg.refresh_expires_in)
    unusable = or_(
        Family.refresh_expires_at <= expired_before,
        Family.revoked_at <= now - KEEP_REVOKED,
    )
    return sweep_table(connection, Family, unusable)


def purge_personal_tokens(connection: Connection, now: datetime, cfg: Settings) -> Iterator[Batch]:
    """Delete personal access tokens that have expired, and those revoked a week ago."""
    unusable = or_(
        PersonalToken.expires_at <= now,
        PersonalToken.revoked_at <= now - KEEP_REVOKED,
    )
    return sweep_table(connection, PersonalToken, unusable)
