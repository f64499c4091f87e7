"""The table of identities."""

import uuid
from datetime import datetime

from sqlalchemy import ForeignKey, String, UniqueConstraint
from sqlalchemy.orm import Mapped, mapped_column

from authsite.platform.db.base import Base


class Identity(Base):
    """A user can sign in as ``subject`` of ``issuer``. Nothing else identifies the person there.

    ``provider``: its name in the settings when the identity was linked or last used. ``email``: the
    address that the provider told, or that was proved by mail, when it was linked. ``trusted``:
    whether that address was proved, by a trusted provider or by mail.
    """

    __tablename__ = "identities"
    __table_args__ = (UniqueConstraint("issuer", "subject", name="uq_identities_issuer_subject"),)

    id: Mapped[uuid.UUID] = mapped_column(primary_key=True)
    user_id: Mapped[uuid.UUID] = mapped_column(
        ForeignKey("users.id", ondelete="CASCADE"), index=True
    )
    provider: Mapped[str] = mapped_column(String(32))
    issuer: Mapped[str] = mapped_column(String(255))
    subject: Mapped[str] = mapped_column(String(255))
    email: Mapped[str | None] = mapped_column(String(254))
    trusted: Mapped[bool]
    created_at: Mapped[datetime]
    used_at: Mapped[datetime | None]
