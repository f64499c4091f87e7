"""The table of changes of groups that are being applied to their members."""

import uuid
from datetime import datetime

from sqlalchemy import JSON, String
from sqlalchemy.orm import Mapped, mapped_column

from authsite.platform.audit.models import Detail
from authsite.platform.db.base import Base


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
    lost: Mapped[str]
    relabel: Mapped[bool]
    after: Mapped[uuid.UUID | None]
    member_count: Mapped[int]
    done_count: Mapped[int] = mapped_column(default=0)
    cause: Mapped[dict[str, Detail]] = mapped_column(JSON)
    created_at: Mapped[datetime]
