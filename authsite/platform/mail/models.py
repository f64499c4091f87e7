"""The outbox table."""

import uuid
from datetime import datetime
from typing import Literal

from sqlalchemy import Index, String, literal_column
from sqlalchemy.orm import Mapped, mapped_column

from authsite.platform.db.base import Base, partial_index

State = Literal["waiting", "sent", "expired", "dead"]
MAX_ERROR = 200  # characters


class OutboxMessage(Base):
    """A mail to be sent: its kind, recipient and values; never its text, a link or a token.

    ``user_id`` has no foreign key: a row for an unknown address must cost as much as one for a
    user's address. `outbox.erase` deletes the rows of a user who is erased. A row ends as ``sent``,
    ``expired`` (its link has expired, or the mail is not needed any more) or ``dead``.
    """

    __tablename__ = "outbox"

    id: Mapped[uuid.UUID] = mapped_column(primary_key=True)
    kind: Mapped[str] = mapped_column("letter", String(64))  # a name in the table of builders
    user_id: Mapped[uuid.UUID | None] = mapped_column(index=True)
    address: Mapped[str] = mapped_column(String(254))
    about_id: Mapped[uuid.UUID | None]  # the row that the mail is about; its builder reads it
    about_since: Mapped[datetime | None]  # when that began
    page_url: Mapped[str | None] = mapped_column(String(2048))
    base_url: Mapped[str | None] = mapped_column(String(2048))
    language: Mapped[str] = mapped_column(String(16))
    # The client address and user agent of the request, for the mails that name them.
    from_address: Mapped[str | None] = mapped_column(String(45))
    from_agent: Mapped[str | None] = mapped_column(String(200))
    expires_at: Mapped[datetime | None]
    created_at: Mapped[datetime]
    give_up_at: Mapped[datetime]
    state: Mapped[State] = mapped_column(String(8))
    delivery_attempts: Mapped[int] = mapped_column("attempts")
    next_attempt_at: Mapped[datetime]
    lease_until: Mapped[datetime | None]
    lease_owner: Mapped[str | None] = mapped_column(String(64))
    last_error: Mapped[str | None] = mapped_column(String(MAX_ERROR))
    ended_at: Mapped[datetime | None]


# A literal: with a bound parameter the partial index below could not be used.
WAITING = OutboxMessage.state == literal_column("'waiting'")

partial_index("ix_outbox_due", OutboxMessage.next_attempt_at, where=WAITING)
# The newest mails, also of one state, for administrators. The state is not first: SQLite would then
# take this index for what is due.
Index(None, OutboxMessage.created_at, OutboxMessage.id, OutboxMessage.state)
