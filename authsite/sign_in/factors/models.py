"""The table of remembered browsers."""

import uuid
from datetime import datetime

from sqlalchemy import ForeignKey, String
from sqlalchemy.orm import Mapped, mapped_column

from authsite.platform.db.base import Base


class RememberedBrowser(Base):
    """A browser that is not asked for a second factor again until ``expires_at``.

    It counts while both versions are still those of its user. Its cookie has the ``id``, sealed.
    """

    __tablename__ = "remembered_browsers"

    id: Mapped[uuid.UUID] = mapped_column(primary_key=True)
    user_id: Mapped[uuid.UUID] = mapped_column(
        ForeignKey("users.id", ondelete="CASCADE"), index=True
    )
    factor_version: Mapped[int]
    recovery_version: Mapped[int]
    address: Mapped[str | None] = mapped_column(String(45))
    agent: Mapped[str | None] = mapped_column(String(200))
    created_at: Mapped[datetime]
    expires_at: Mapped[datetime]
