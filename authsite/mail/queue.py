"""The outbox from the side of an operator: look at what has not left, and try again."""

import uuid
from collections.abc import Sequence
from datetime import datetime

from sqlalchemy import case, func, select, update
from sqlalchemy.orm import Session

from .models import Outgoing
from .outbox import KEEP_TRYING

_OPEN = ("waiting", "dead")


def count(db: Session) -> int:
    """How many letters wait or are dead."""
    return db.scalar(select(func.count()).where(Outgoing.state.in_(_OPEN))) or 0


def listing(db: Session, limit: int) -> Sequence[Outgoing]:
    """Letters that wait or are dead, the dead first, then by age; at most ``limit``."""
    dead_first = case((Outgoing.state == "dead", 0), else_=1)
    return db.scalars(
        select(Outgoing)
        .where(Outgoing.state.in_(_OPEN))
        .order_by(dead_first, Outgoing.created_at, Outgoing.id)
        .limit(limit)
    ).all()


def retry(db: Session, now: datetime, id_: uuid.UUID | None = None) -> int:
    """Give dead letters another 24 hours: the one with this id, or all. How many there were."""
    dead = update(Outgoing).where(Outgoing.state == "dead")
    if id_ is not None:
        dead = dead.where(Outgoing.id == id_)
    revived = dead.values(
        state="waiting", next_attempt_at=now, give_up_at=now + KEEP_TRYING, ended_at=None
    ).returning(Outgoing.id)
    return len(db.execute(revived, execution_options={"synchronize_session": False}).all())
