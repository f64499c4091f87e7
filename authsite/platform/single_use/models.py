"""The table of sealed values that were used."""

from datetime import datetime

from sqlalchemy import String
from sqlalchemy.orm import Mapped, mapped_column

from authsite.platform.db.base import Base


class UsedId(Base):
    """A sealed value that may be used once was used. ``digest``: its SHA-256 in hex.

    After ``expires_at`` the value is rejected without this row.
    """

    __tablename__ = "used_ids"

    digest: Mapped[str] = mapped_column(String(64), primary_key=True)
    expires_at: Mapped[datetime]
