"""The application's own table, in its own database, and its own session ``request.db``."""

from datetime import UTC, datetime

import zope.sqlalchemy
from sqlalchemy.orm import DeclarativeBase, Mapped, Session, mapped_column


class Base(DeclarativeBase):
    """The base of the application's tables."""


class Note(Base):
    """A note. ``owner`` is the id of a user of authsite, as text."""

    __tablename__ = "notes"

    id: Mapped[int] = mapped_column(primary_key=True)
    owner: Mapped[str] = mapped_column(index=True)
    text: Mapped[str]
    written_at: Mapped[datetime] = mapped_column(default=lambda: datetime.now(UTC))


def request_session(request):
    """A session in the transaction of the request, which pyramid_tm commits."""
    session = Session(request.registry["notes.engine"])
    zope.sqlalchemy.register(session, transaction_manager=request.tm)
    return session
