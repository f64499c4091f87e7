"""The table of the counters that all processes share."""

from datetime import datetime

from sqlalchemy import String
from sqlalchemy.orm import Mapped, mapped_column

from authsite.platform.db.base import Base


class LimitCounter(Base):
    """The count of a window that ends at ``expires_at``.

    On PostgreSQL the counts survive a crash and a failover, except those of the last moments
    (`DatabaseStorage`). An increment changes no index (a HOT update).
    """

    __tablename__ = "limit_counters"

    key: Mapped[str] = mapped_column(String(128), primary_key=True)
    count: Mapped[int]
    expires_at: Mapped[datetime] = mapped_column(index=True)
