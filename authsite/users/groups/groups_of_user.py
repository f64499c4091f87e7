"""Who is in which group."""

import uuid
from collections.abc import Sequence

from sqlalchemy import select
from sqlalchemy.orm import Session

from .models import GroupMember


def groups_of(db: Session, user_id: uuid.UUID) -> Sequence[str]:
    """The names of the groups of a user, in their order."""
    return db.scalars(
        select(GroupMember.group_name)
        .where(GroupMember.user_id == user_id)
        .order_by(GroupMember.group_name)
    ).all()
