"""The column ``users.labels``: the groups of a user, readable without a join.

It is a text such as ``ops finance=aal2``: the names of the groups in their order, each with its
``require_acr`` if it has one. NULL means that the user is in no group. It changes in the
transaction that changes the membership, under a lock on the row of the user.
"""

import uuid

from sqlalchemy import select, update
from sqlalchemy.orm import Session

from authsite.users.levels import reaches
from authsite.users.models import User

from .models import Group, GroupMember


def shown(labels: str | None, acr: str | None = None) -> tuple[str, ...]:
    """The names of the groups that count in a request, in their order, without their levels.

    ``labels``: the value of the column. ``acr``: the authentication context class of the sign-in
    that the request comes from, None for one that is not known. A group with a `require_acr`
    counts only from that level on (RFC 9470); one with an unknown level never counts.
    """
    if not labels:
        return ()
    pairs = (each.partition("=") for each in labels.split())
    return tuple(name for name, _, required in pairs if not required or reaches(acr, required))


def level_of(labels: str | None, name: str) -> str | None:
    """The level from which on the user is in the group ``name``; None if it has none.

    Also None if the user is not in the group.
    """
    pairs = (each.partition("=") for each in (labels or "").split())
    return next((required for group, _, required in pairs if group == name and required), None)


def write(db: Session, user_id: uuid.UUID) -> None:
    """Compute the labels of a user from the memberships. The caller has locked the user's row."""
    # A separate statement, after the lock: it reads what the transaction before has committed.
    groups = db.execute(
        select(GroupMember.group_name, Group.require_acr)
        .outerjoin(Group, Group.name == GroupMember.group_name)
        .where(GroupMember.user_id == user_id)
        .order_by(GroupMember.group_name)
    )
    labels = " ".join(f"{name}={acr}" if acr else name for name, acr in groups)
    db.execute(
        update(User)
        .where(User.id == user_id)
        .values(labels=labels or None)
        .execution_options(synchronize_session="fetch")
    )
