"""The outbox table."""

import uuid
from datetime import datetime
from typing import Literal

from sqlalchemy import Index, String, literal_column
from sqlalchemy.orm import Mapped, mapped_column

from authsite.db.base import Base

State = Literal["waiting", "sent", "expired", "dead"]
MAX_ERROR = 200  # characters


class Outgoing(Base):
    """A letter to be sent: which one, to whom, with what; never its text, a link or a token.

    ``user_id`` has no foreign key: a row for an address that nobody has must cost as much as one
    for a user's, and erasing a user erases these rows by `outbox.erase`. A row ends as ``sent``,
    ``expired`` (its link would no longer work, or nobody needs it any more) or ``dead``.
    """

    __tablename__ = "outbox"

    id: Mapped[uuid.UUID] = mapped_column(primary_key=True)
    letter: Mapped[str] = mapped_column(String(64))
    user_id: Mapped[uuid.UUID | None] = mapped_column(index=True)
    address: Mapped[str] = mapped_column(String(254))
    page_url: Mapped[str | None] = mapped_column(String(2048))
    base_url: Mapped[str | None] = mapped_column(String(2048))
    language: Mapped[str] = mapped_column(String(16))
    expires_at: Mapped[datetime | None]
    created_at: Mapped[datetime]
    give_up_at: Mapped[datetime]
    state: Mapped[State] = mapped_column(String(8))
    attempts: Mapped[int]
    next_attempt_at: Mapped[datetime]
    lease_until: Mapped[datetime | None]
    lease_owner: Mapped[str | None] = mapped_column(String(64))
    last_error: Mapped[str | None] = mapped_column(String(MAX_ERROR))
    ended_at: Mapped[datetime | None]


# Written out, not a parameter: only then can the partial index below answer it.
WAITING = Outgoing.state == literal_column("'waiting'")

Index(
    "ix_outbox_due",
    Outgoing.next_attempt_at,
    sqlite_where=WAITING,
    postgresql_where=WAITING,
)
