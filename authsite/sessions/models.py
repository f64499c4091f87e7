"""Browser sessions: one row for each browser in which a user is signed in, and its timeouts."""

import uuid
from datetime import datetime, timedelta

from sqlalchemy import ForeignKey, String
from sqlalchemy.orm import Mapped, mapped_column

from authsite.db.base import Base

# Without "stay signed in" a session ends at the first of two timeouts (ASVS 7.3); with it, at one.
IDLE_TIMEOUT = timedelta(hours=12)
ABSOLUTE_TIMEOUT = timedelta(days=30)
REMEMBERED_TIMEOUT = timedelta(days=90)


class BrowserSession(Base):
    """A signed-in browser. The cookie's value is stored only as its SHA-256."""

    __tablename__ = "web_sessions"

    id: Mapped[uuid.UUID] = mapped_column(primary_key=True)
    key_hash: Mapped[str] = mapped_column(String(64), unique=True)
    user_id: Mapped[uuid.UUID] = mapped_column(
        ForeignKey("users.id", ondelete="CASCADE"), index=True
    )
    user_epoch: Mapped[int]
    remember: Mapped[bool]
    created_at: Mapped[datetime]
    used_at: Mapped[datetime]
    expires_at: Mapped[datetime]
    address: Mapped[str | None] = mapped_column(String(45))
    agent: Mapped[str | None] = mapped_column(String(200))
