"""The audit tables. Ids of users and clients are not foreign keys: rows outlive them."""

import uuid
from datetime import datetime
from typing import TypeAlias

from sqlalchemy import JSON, BigInteger, Integer, String
from sqlalchemy.orm import Mapped, mapped_column

from authsite.platform.db.base import Base, partial_index

Detail: TypeAlias = str | dict[str, str | None]
"""A value of the details: a text, or several of them by name, such as who did it."""


class AuditEvent(Base):
    """Who did what, when, from where, with which result."""

    __tablename__ = "audit_events"

    id: Mapped[int] = mapped_column(BigInteger().with_variant(Integer, "sqlite"), primary_key=True)
    at: Mapped[datetime] = mapped_column(index=True)
    event: Mapped[str] = mapped_column(String(64))
    user_id: Mapped[uuid.UUID | None]
    client_id: Mapped[uuid.UUID | None]
    address: Mapped[str | None] = mapped_column(String(45))
    agent: Mapped[str | None] = mapped_column(String(200))
    request_id: Mapped[str | None] = mapped_column(String(64))
    details: Mapped[dict[str, Detail] | None] = mapped_column(JSON)


# The latest events of a user; an event without one is not in it.
partial_index(
    "ix_audit_events_of_user",
    AuditEvent.user_id,
    AuditEvent.id,
    where=AuditEvent.user_id.is_not(None),
)
