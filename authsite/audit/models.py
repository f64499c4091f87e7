"""The audit table. Its ids of users and clients are no foreign keys: rows outlive them."""

import uuid
from datetime import datetime

from sqlalchemy import JSON, BigInteger, Integer, String
from sqlalchemy.orm import Mapped, mapped_column

from authsite.db.base import Base


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
    details: Mapped[dict[str, str] | None] = mapped_column(JSON)
