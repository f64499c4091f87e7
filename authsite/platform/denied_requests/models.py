"""The table of the latest denied requests."""

import uuid
from datetime import datetime

from sqlalchemy import JSON, BigInteger, Integer, String
from sqlalchemy.orm import Mapped, mapped_column

from authsite.platform.db.base import Base


class DeniedRequest(Base):
    """A request that was denied. The ids of clients are not foreign keys: rows outlive them.

    ``reason``: the table and the name of the `DenialReason`; None for an error that has none.
    ``details``: what was sent and expected.
    """

    __tablename__ = "denied_requests"

    id: Mapped[int] = mapped_column(BigInteger().with_variant(Integer, "sqlite"), primary_key=True)
    at: Mapped[datetime]
    request_id: Mapped[str] = mapped_column(String(64), index=True)
    route: Mapped[str] = mapped_column(String(64))
    status: Mapped[int] = mapped_column(Integer)
    error: Mapped[str] = mapped_column(String(64))
    reason: Mapped[str | None] = mapped_column(String(64))
    client_id: Mapped[uuid.UUID | None]
    address: Mapped[str | None] = mapped_column(String(45))
    details: Mapped[dict[str, str] | None] = mapped_column(JSON)
