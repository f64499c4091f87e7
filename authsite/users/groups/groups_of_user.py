"""Who is in which group."""

import uuid
from collections.abc import Sequence

from sqlalchemy import or_, select
from sqlalchemy.orm import Session

from .models import Group, GroupMember
from .reserved import RESERVED


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
