"""The table of stored requests."""

import uuid
from datetime import datetime

from sqlalchemy import ForeignKey, String, Text
from sqlalchemy.orm import Mapped, mapped_column

from authsite.platform.db.base import Base


class StoredRequest(Base):
    """Something that a browser goes on with until ``expires_at``. Of its key only a hash is stored.

    ``kind``: what it is; ``body``: its JSON; ``user_id``: the user that it is about, if one is
    known.
    """

    __tablename__ = "stored_requests"

    id: Mapped[uuid.UUID] = mapped_column(primary_key=True)
    key_hash: Mapped[str] = mapped_column(String(64), unique=True)
    kind: Mapped[str] = mapped_column(String(32))
    user_id: Mapped[uuid.UUID | None] = mapped_column(
        ForeignKey("users.id", ondelete="CASCADE"), index=True
    )
    body: Mapped[str] = mapped_column(Text)
    created_at: Mapped[datetime]
    expires_at: Mapped[datetime]
