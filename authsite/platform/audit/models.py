"""The audit tables. Ids of users and clients are not foreign keys: rows outlive them."""

import uuid
from datetime import datetime
from typing import TypeAlias

from sqlalchemy import JSON, BigInteger, CheckConstraint, Index, Integer, String
from sqlalchemy.orm import Mapped, mapped_column

from authsite.platform.db.base import Base

Detail: TypeAlias = str | dict[str, str | None]
"""A value of the details: a text, or an `authsite.platform.audit.cause.Actor`."""


class AuditEvent(Base):
    """Who did what, when, from where, with which result."""

    __tablename__ = "audit_events"
    __table_args__ = (Index(None, "user_id", "id"),)  # the latest events of a user

    id: Mapped[int] = mapped_column(BigInteger().with_variant(Integer, "sqlite"), primary_key=True)
    at: Mapped[datetime] = mapped_column(index=True)
    event: Mapped[str] = mapped_column(String(64))
    user_id: Mapped[uuid.UUID | None]
    client_id: Mapped[uuid.UUID | None]
    address: Mapped[str | None] = mapped_column(String(45))
    agent: Mapped[str | None] = mapped_column(String(200))
    request_id: Mapped[str | None] = mapped_column(String(64))
    details: Mapped[dict[str, Detail] | None] = mapped_column(JSON)


class AuditSeal(Base):
    """A MAC over some events and the seal before (`authsite.platform.audit.seals`)."""

    __tablename__ = "audit_seals"
    __table_args__ = (CheckConstraint("id > 0", name="id"),)

    id: Mapped[int] = mapped_column(
        BigInteger().with_variant(Integer, "sqlite"), primary_key=True, autoincrement=False
    )
    at: Mapped[datetime]
    rows: Mapped[int]
    first_id: Mapped[int] = mapped_column(BigInteger)
    last_id: Mapped[int] = mapped_column(BigInteger)
    newest_at: Mapped[datetime]
    """The latest time of the events."""
    key: Mapped[str] = mapped_column(String(12))
    """The fingerprint of the key, in hexadecimal."""
    digest: Mapped[str] = mapped_column(String(64))
    """SHA-256 of the events, in hexadecimal."""
    former_mac: Mapped[str] = mapped_column(String(64))
    mac: Mapped[str] = mapped_column(String(64))
    purged_mac: Mapped[str | None] = mapped_column(String(64))
    """A second MAC, when the purge has deleted the events of this seal and all before it."""
