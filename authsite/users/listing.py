"""The list of users of the command line."""

from collections.abc import Sequence
from typing import NamedTuple

from sqlalchemy import func, select
from sqlalchemy.orm import Session

from .models import User


class Found(NamedTuple):
    """Some of the users that were looked for, and how many there are."""

    users: Sequence[User]
    total: int


def search(
    db: Session, limit: int, *, email: str = "", disabled: bool = False, unconfirmed: bool = False
) -> Found:
    """Up to ``limit`` users, oldest first, whose e-mail address contains ``email``.

    With ``disabled`` and ``unconfirmed`` only those that are so.
    """
    conditions = [func.lower(User.email).contains(email.lower(), autoescape=True)]
    if disabled:
        conditions.append(User.disabled_at.is_not(None))
    if unconfirmed:
        conditions.append(User.email_verified_at.is_(None))
    query = select(User).where(*conditions).order_by(User.created_at, User.id).limit(limit)
    total = db.scalar(select(func.count()).select_from(User).where(*conditions)) or 0
    return Found(db.scalars(query).all(), total)
