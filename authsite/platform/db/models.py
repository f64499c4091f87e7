"""The table of the heartbeats; see `standbys`."""

from datetime import datetime
from uuid import UUID

from sqlalchemy import BigInteger
from sqlalchemy.orm import Mapped, mapped_column

from .base import Base


class Heartbeat(Base):
    """The latest heartbeat of a process. Nothing but the key has an index: each is a HOT update."""

    __tablename__ = "heartbeats"

    process: Mapped[UUID] = mapped_column(primary_key=True)
    """A random id, which ends with the process."""
    moment: Mapped[int] = mapped_column(BigInteger)
    """Of the monotonic clock of that process, in nanoseconds: just before it sent this."""
    written_at: Mapped[datetime]
    """By the clock of the database: only to delete rows of processes that have ended."""
