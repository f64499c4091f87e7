"""The table of seals."""

from datetime import datetime

from sqlalchemy import BigInteger, CheckConstraint, Integer, String
from sqlalchemy.orm import Mapped, mapped_column

from authsite.platform.db.base import Base


class AuditSeal(Base):
    """A MAC over some events and the seal before (`authsite.platform.audit.seals.seal`)."""

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
