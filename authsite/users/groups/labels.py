"""The column ``users.labels``: the groups of a user, readable without a join.

It is a text such as ``ops finance=aal2``: the names of the groups in their order, each with its
``require_acr`` if it has one. NULL means that the user is in no group. It changes in the
transaction that changes the membership, under a lock on the row of the user.

The level of the reserved groups is the setting `admin-acr`, which the column does not have: it is
added when the labels are read, so that a new value counts from the first request.
"""

import uuid
from collections.abc import Collection, Iterator

from sqlalchemy import or_, select, update
from sqlalchemy.orm import Session

from authsite.platform.settings import Settings
from authsite.users.levels import LEVELS, reaches
from authsite.users.models import User

from .models import Group, GroupMember
from .reserved import RESERVED, is_reserved


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
