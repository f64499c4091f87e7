"""Tables of groups, of their members, and of changes that are being applied to these."""

import uuid
from datetime import datetime

from sqlalchemy import JSON, ForeignKey, Index, String, Text
from sqlalchemy.orm import Mapped, mapped_column

from authsite.platform.audit.models import Detail
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


class GroupChange(Base):
    """A change of a group, or its deletion, that has not come to all of its members yet.

    ``deletes``: the group is deleted, and the members leave it. ``lost``: the scopes that members
    may have lost, separated by spaces. ``relabel``: their labels must be written. ``after``: the
    id of the last member that the change has come to. ``member_count``: how many there were when
    it began; ``done_count``: how many it has come to. ``cause``: who changed the group, and why.
    """

    __tablename__ = "group_changes"

    id: Mapped[uuid.UUID] = mapped_column(primary_key=True, default=uuid.uuid4)
    group_name: Mapped[str] = mapped_column(String(32))
    deletes: Mapped[bool]
    lost: Mapped[str] = mapped_column(Text)
    relabel: Mapped[bool]
    after: Mapped[uuid.UUID | None]
    member_count: Mapped[int]
    done_count: Mapped[int] = mapped_column(default=0)
    cause: Mapped[dict[str, Detail]] = mapped_column(JSON)
    created_at: Mapped[datetime]
