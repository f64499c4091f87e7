"""Browser sessions: one row for each browser in which a user is signed in."""

import uuid
from datetime import datetime

from sqlalchemy import ForeignKey, String, Text
from sqlalchemy.orm import Mapped, mapped_column

from authsite.platform.db.base import Base


class BrowserSession(Base):
    """A signed-in browser. Of its key only a hash is stored; see `authsite.sign_in.sessions.keys`.

    A session ends at ``expires_at``: after `session-lifetime`, or with ``remember`` ("stay signed
    in") after `session-remember`. Without ``remember`` it also ends after `session-idle` without
    use (ASVS 5.0, 7.3).

    ``facts``: see `authsite.sign_in.facts`. ``auth_at``: when the user proved to be who they are.
    ``recognized``: since when the browser had been
    recognized before. ``identity_id``: the identity with which the session began; the row of the
    identity may be gone. ``ends_at``: when nothing that comes from this sign-in may last any
    longer; NULL for no such bound. ``confirmed_at``: when the user last proved at a linked
    provider, for a sensitive change, to be who they are.
    """

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
    facts: Mapped[str | None] = mapped_column(Text)
    auth_at: Mapped[datetime]
    recognized: Mapped[datetime | None]
    identity_id: Mapped[uuid.UUID | None]
    ends_at: Mapped[datetime | None]
    confirmed_at: Mapped[datetime | None]
