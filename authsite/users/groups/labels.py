"""The column ``users.labels``: the groups of a user, readable without a join.

It is a text such as ``ops finance=aal2``: the names of the groups in their order, each with its
``require_acr`` if it has one. NULL means that the user is in no group. It changes in the
transaction that changes the membership, under a lock on the row of the user.

The level of the reserved groups is the setting `admin-acr`, which the column does not have: it is
added when the labels are read, so that a new value counts from the first request.
"""

import uuid
from collections.abc import Collection, Iterator, Mapping, Sequence
from datetime import datetime
from typing import NamedTuple

from sqlalchemy import JSON, ForeignKey, Index, String, Text, or_, select, update
from sqlalchemy.orm import Mapped, Session, mapped_column

from authsite.platform.audit.models import Detail
from authsite.platform.db.base import Base
from authsite.platform.settings import Settings
from authsite.users.account import LEVELS, reaches
from authsite.users.models import User

# Tables of groups, of their members, and of changes that are being applied to these.


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


# The reserved groups, whose members are the administrators, and the scopes that these bind.
#
# Their names, titles and scopes are defined here and nowhere else. There is no other word for
# what an administrator may do.


PREFIX = "authsite:"
OWNER = "authsite:owner"


class ReservedGroup(NamedTuple):
    """A group that exists in every installation."""

    title: str
    scopes: tuple[str, ...]


def _scopes(action: str, objects: str) -> tuple[str, ...]:
    return tuple(f"admin:{each}:{action}" for each in objects.split())


_VIEWER = _scopes("read", "users sessions factors limits clients groups audit mail health")
_SUPPORT = (*_VIEWER, *_scopes("write", "sessions mail limits factors"))
_SECURITY = (
    *_SUPPORT,
    *_scopes("write", "users invitations"),
    *_scopes("read", "settings exports"),
)
_OWNER = (*_SECURITY, *_scopes("write", "clients groups"))

RESERVED: Mapping[str, ReservedGroup] = {
    "authsite:viewer": ReservedGroup("Viewers", _VIEWER),
    "authsite:support": ReservedGroup("Support", _SUPPORT),
    "authsite:security": ReservedGroup("Security", _SECURITY),
    OWNER: ReservedGroup("Owners", _OWNER),
}
ADMIN_SCOPES = frozenset(_OWNER)
"""All scopes that begin with ``admin:``. A ``write`` includes the ``read`` of the same object."""


def is_reserved(name: str) -> bool:
    """Whether no group of this name can be created: it begins with ``authsite:``."""
    return name.startswith(PREFIX)


def shown(labels: str | None, acr: str | None, admin_acr: str) -> tuple[str, ...]:
    """The names of the groups that count in a request, in their order, without their levels.

    ``labels``: the value of the column. ``acr``: the authentication context class of the sign-in
    that the request comes from, None for one that is not known. A group with a `require_acr`
    counts only from that level on (RFC 9470); one with an unknown level never counts.
    ``admin_acr``: the setting, which is the level of the reserved groups.
    """
    levels = _levels(labels, admin_acr)
    return tuple(name for name, required in levels if not required or reaches(acr, required))


def shown_to_others(labels: str | None, acr: str | None, settings: Settings) -> tuple[str, ...]:
    """Those of `shown` that other programs are told.

    The reserved groups say who administers this service, which is the business of few: they are
    left out unless `expose-reserved-groups` is on.
    """
    if not labels:  # most users are in no group
        return ()
    found = shown(labels, acr, settings.admin_acr)
    if settings.expose_reserved_groups:
        return found
    return tuple(name for name in found if not is_reserved(name))


def names(labels: str | None) -> tuple[str, ...]:
    """The names of all groups of a user, in their order, whatever the level of a sign-in is."""
    return tuple(each.partition("=")[0] for each in (labels or "").split())


def level_of(labels: str | None, name: str, admin_acr: str) -> str | None:
    """The level from which on the user is in the group ``name``; None if it has none.

    Also None if the user is not in the group, or the level is not known: no sign-in reaches it.
    """
    levels = dict(_levels(labels, admin_acr))
    required = levels.get(name)
    return required if required in LEVELS else None


def count_from(labels: str | None, acr: str | None, admin_acr: str) -> bool:
    """Whether a group of the user does not count at the level ``acr``, but at a higher one."""
    levels = _levels(labels, admin_acr)
    return any(each in LEVELS and not reaches(acr, each) for _name, each in levels)


def write(db: Session, user_ids: Collection[uuid.UUID]) -> None:
    """Compute the labels of users from the memberships. The caller has locked the users' rows."""
    found: dict[uuid.UUID, list[str]] = {user_id: [] for user_id in user_ids}
    # A separate statement, after the lock: it reads what the transaction before has committed.
    groups = db.execute(
        select(GroupMember.user_id, GroupMember.group_name, Group.require_acr)
        .outerjoin(Group, Group.name == GroupMember.group_name)
        .where(GroupMember.user_id.in_(found))
        # The members of a deleted group leave it later, if they are many.
        .where(or_(Group.name.is_not(None), GroupMember.group_name.in_(list(RESERVED))))
        .order_by(GroupMember.group_name)
    )
    for user_id, name, acr in groups:
        found[user_id].append(f"{name}={acr}" if acr else name)
    # Of a large group nearly all users have the same.
    users: dict[str | None, list[uuid.UUID]] = {}
    for user_id, labels in found.items():
        users.setdefault(" ".join(labels) or None, []).append(user_id)
    for text, ids in users.items():
        db.execute(
            update(User)
            .where(User.id.in_(ids))
            .values(labels=text)
            .execution_options(synchronize_session="fetch")
        )


def _levels(labels: str | None, admin_acr: str) -> Iterator[tuple[str, str | None]]:
    for each in (labels or "").split():
        name, _, required = each.partition("=")
        yield name, admin_acr if is_reserved(name) else required or None


# Who is in which group.


def groups_of(db: Session, user_id: uuid.UUID) -> Sequence[str]:
    """The names of the groups of a user, in their order."""
    return db.scalars(
        select(GroupMember.group_name)
        .where(GroupMember.user_id == user_id)
        .order_by(GroupMember.group_name)
    ).all()


def existing_groups_of(db: Session, user_id: uuid.UUID) -> Sequence[str]:
    """`groups_of` without the groups that were deleted, which their members leave later."""
    return db.scalars(
        select(GroupMember.group_name)
        .outerjoin(Group, Group.name == GroupMember.group_name)
        .where(
            GroupMember.user_id == user_id,
            or_(Group.name.is_not(None), GroupMember.group_name.in_(RESERVED)),
        )
        .order_by(GroupMember.group_name)
    ).all()
