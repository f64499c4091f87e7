"""The table in which all processes count."""

from datetime import datetime

from sqlalchemy import String
from sqlalchemy.orm import Mapped, mapped_column

from authsite.db.base import Base


class LimitCounter(Base):
    """How often something happened in a window that ends at ``expires_at``.

    On PostgreSQL the table is UNLOGGED: counting costs no write to the log, and a crash of the
    database begins all windows anew. A count that rises changes no index (a HOT update).
    """

    __tablename__ = "limit_counters"

    key: Mapped[str] = mapped_column(String(128), primary_key=True)
    count: Mapped[int]
    expires_at: Mapped[datetime] = mapped_column(index=True)
