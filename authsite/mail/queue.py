"""The outbox as operators use it: list the mails that were not sent, and retry dead ones."""

import uuid
from collections.abc import Sequence
from datetime import datetime

from sqlalchemy import case, func, select, update
from sqlalchemy.orm import Session

from .models import OutboxMessage
from .outbox import KEEP_TRYING

_OPEN = ("waiting", "dead")


def count(db: Session) -> int:
    """The number of waiting and dead mails."""
    return db.scalar(select(func.count()).where(OutboxMessage.state.in_(_OPEN))) or 0


def listing(db: Session, limit: int) -> Sequence[OutboxMessage]:
    """Up to ``limit`` waiting and dead mails: the dead first, then the oldest."""
    dead_first = case((OutboxMessage.state == "dead", 0), else_=1)
    return db.scalars(
        select(OutboxMessage)
        .where(OutboxMessage.state.in_(_OPEN))
        .order_by(dead_first, OutboxMessage.created_at, OutboxMessage.id)
        .limit(limit)
    ).all()


def retry(db: Session, now: datetime, id_: uuid.UUID | None = None) -> int:
    """Make dead mails wait for another 24 hours: the one with this id, or all; how many."""
    dead = update(OutboxMessage).where(OutboxMessage.state == "dead")
    if id_ is not None:
        dead = dead.where(OutboxMessage.id == id_)
    revived = dead.values(
        state="waiting", next_attempt_at=now, give_up_at=now + KEEP_TRYING, ended_at=None
    ).returning(OutboxMessage.id)
    return len(db.execute(revived, execution_options={"synchronize_session": False}).all())
