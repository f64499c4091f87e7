"""Read the audit trail."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import NamedTuple
from uuid import UUID

from sqlalchemy import ColumnElement, func, select
from sqlalchemy.orm import Session

from .models import AuditEvent


class Found(NamedTuple):
    """Some events, and how many there are in all."""

    events: Sequence[AuditEvent]
    total: int


@dataclass(frozen=True)
class Filter:
    """Which events to find: those that agree with every value given."""

    user_id: UUID | None = None
    client_id: UUID | None = None
    event: str | None = None
    """A name, or the beginning of names: ``login`` finds ``login.failed``."""
    request_id: str | None = None
    address: str | None = None
    since: datetime | None = None

    def conditions(self) -> list[ColumnElement[bool]]:
        """The filter in SQL."""
        columns = {
            AuditEvent.user_id: self.user_id,
            AuditEvent.client_id: self.client_id,
            AuditEvent.request_id: self.request_id,
            AuditEvent.address: self.address,
        }
        found = [column == value for column, value in columns.items() if value is not None]
        if self.event:
            found.append(AuditEvent.event.startswith(self.event, autoescape=True))
        if self.since:
            found.append(AuditEvent.at >= self.since)
        return found


def search(db: Session, wanted: Filter, limit: int) -> Found:
    """Up to ``limit`` events, the latest ones, in the order in which they were recorded."""
    conditions = wanted.conditions()
    latest = select(AuditEvent).where(*conditions).order_by(AuditEvent.id.desc()).limit(limit)
    total = db.scalar(select(func.count()).select_from(AuditEvent).where(*conditions)) or 0
    return Found(db.scalars(latest).all()[::-1], total)
