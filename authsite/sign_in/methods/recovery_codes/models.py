"""The table of recovery codes."""

import uuid
from datetime import datetime

from sqlalchemy import ForeignKey, String
from sqlalchemy.orm import Mapped, mapped_column

from authsite.platform.db.base import Base


class RecoveryCode(Base):
    """A recovery code of a user; ``mac``: as of `SealingKeys.macs`. NULL ``used_at``: not used."""

    __tablename__ = "recovery_codes"

    id: Mapped[uuid.UUID] = mapped_column(primary_key=True)
    user_id: Mapped[uuid.UUID] = mapped_column(
        ForeignKey("users.id", ondelete="CASCADE"), index=True
    )
    mac: Mapped[str] = mapped_column(String(96))
    created_at: Mapped[datetime]
    used_at: Mapped[datetime | None]
