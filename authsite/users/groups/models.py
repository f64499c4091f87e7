"""Tables of groups and of their members."""

import uuid
from datetime import datetime

from sqlalchemy import ForeignKey, Index, String
from sqlalchemy.orm import Mapped, mapped_column

from authsite.platform.db.base import Base


class Group(Base):
    """A group that an administrator has created; the reserved ones have no row.

    ``scopes``: the scopes that it gives to its members, separated by spaces. ``require_acr``: the
    authentication context class that a sign-in must have for it (RFC 9470).
    """

    __tablename__ = "groups"

    name: Mapped[str] = mapped_column(String(32), primary_key=True)
    title: Mapped[str] = mapped_column(String(100))
    require_acr: Mapped[str | None] = mapped_column(String(64))
    scopes: Mapped[str] = mapped_column(String(1024), default="")
    created_at: Mapped[datetime]
    updated_at: Mapped[datetime]


class GroupMember(Base):
    """A user is in a group. The reserved groups have members too, so the name is not a foreign key.

    ``users.labels`` has the same names, for queries that must not join this table.
    """

    __tablename__ = "group_members"
    __table_args__ = (Index(None, "group_name", "user_id"),)  # the members of a group by id

    user_id: Mapped[uuid.UUID] = mapped_column(
        ForeignKey("users.id", ondelete="CASCADE"), primary_key=True
    )
    group_name: Mapped[str] = mapped_column(String(32), primary_key=True, index=True)
    created_at: Mapped[datetime]
