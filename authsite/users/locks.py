"""Lock the rows of several users."""

import uuid
from collections.abc import Collection

from sqlalchemy import select
from sqlalchemy.orm import Session

from .models import User


def lock_all(db: Session, user_ids: Collection[uuid.UUID]) -> None:
    """Lock the rows of these users, as `authsite.users.service.lock` does for one.

    It locks them in the order of their ids: transactions in different orders would deadlock.
    """
    of_users = select(User.id).where(User.id.in_(user_ids)).order_by(User.id)
    db.execute(of_users.with_for_update(key_share=True))
