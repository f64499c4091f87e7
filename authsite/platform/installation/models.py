"""The tables of what an installation records about itself."""

from datetime import datetime

from sqlalchemy import String
from sqlalchemy.orm import Mapped, mapped_column

from authsite.platform.db.base import Base


class InstallationRecord(Base):
    """One fact, by its name."""

    __tablename__ = "installation_records"

    name: Mapped[str] = mapped_column(String(32), primary_key=True)
    value: Mapped[str] = mapped_column(String(64))
    at: Mapped[datetime]
    """When it was recorded."""


class UsedFeature(Base):
    """A feature that an older version would overlook, and that is used (`features`)."""

    __tablename__ = "used_features"

    name: Mapped[str] = mapped_column(String(64), primary_key=True)
