"""Delete old rows of the audit trail."""

from collections.abc import Iterator
from datetime import datetime

from sqlalchemy import Connection

from authsite.db.batches import Batch, sweep_index
from authsite.settings import Settings

from .models import AuditEvent


def purge(connection: Connection, now: datetime, cfg: Settings) -> Iterator[Batch]:
    """Delete rows that are older than ``audit-keep``, unless it is ``forever``."""
    if cfg.audit_keep is None:
        return iter(())
    return sweep_index(connection, AuditEvent.id, AuditEvent.at, now - cfg.audit_keep)
