"""An installation keeps an owner: a member of ``authsite:owner`` who is enabled."""

import uuid

from sqlalchemy import Select, select
from sqlalchemy.orm import Session

from authsite.users.errors import LastOwner
from authsite.users.models import User

from .models import GroupMember
from .reserved import OWNER


def require_another(db: Session, user_id: uuid.UUID) -> None:
    """Call this before a user is disabled, deleted or removed from the owners.

    Raises `LastOwner` if the user is the only enabled owner. The rows of all owners stay locked
    until the transaction ends, so that two of them cannot go at the same time.
    """
    member = GroupMember.user_id == user_id, GroupMember.group_name == OWNER
    if db.scalar(select(GroupMember.user_id).where(*member)) is None:
        return
    # In one order, against deadlocks. SQLite, whose transaction has the write lock, ignores it.
    db.execute(
        select(User.id)
        .where(User.id.in_(select(GroupMember.user_id).where(GroupMember.group_name == OWNER)))
        .order_by(User.id)
        .with_for_update(key_share=True)
    )
    # A separate statement: it reads what other transactions have committed before the lock.
    if set(db.scalars(enabled_owners())) == {user_id}:
        raise LastOwner


def enabled_owners() -> Select[uuid.UUID]:
    """The ids of the owners who are enabled."""
    return (
        select(User.id)
        .join(GroupMember, GroupMember.user_id == User.id)
        .where(GroupMember.group_name == OWNER, User.disabled_at.is_(None))
    )
