"""The outbox as operators use it: list the mails that were not sent, and retry dead ones."""

import uuid
from collections.abc import Sequence
from typing import Any, NamedTuple, cast

from sqlalchemy import CursorResult, case, func, select, update
from sqlalchemy.orm import Session

from authsite import clock

from .models import WAITING, OutboxMessage
from .outbox import KEEP_TRYING

_OPEN = ("waiting", "dead")


class Found(NamedTuple):
    """Some of the mails that were looked for, and how many there are."""

    mails: Sequence[OutboxMessage]
    total: int


def search(db: Session, limit: int, *, email: str = "", dead: bool = False) -> Found:
    """Up to ``limit`` waiting and dead mails: the dead first, then the oldest.

    Only those whose address contains ``email``; with ``dead`` only dead ones.
    """
    conditions = [
        OutboxMessage.state.in_(("dead",) if dead else _OPEN),
        func.lower(OutboxMessage.address).contains(email.lower(), autoescape=True),
    ]
    dead_first = case((OutboxMessage.state == "dead", 0), else_=1)
    query = (
        select(OutboxMessage)
        .where(*conditions)
        .order_by(dead_first, OutboxMessage.created_at, OutboxMessage.id)
        .limit(limit)
    )
    total = db.scalar(select(func.count()).select_from(OutboxMessage).where(*conditions)) or 0
    return Found(db.scalars(query).all(), total)


def hold_back(db: Session) -> int:
    """Make every waiting mail dead, since it may have been sent before; returns their number.

    For a restored backup. `retry` sends them.
    """
    held = (
        update(OutboxMessage)
        .where(WAITING)
        .values(
            state="dead",
            ended_at=clock.now(),
            lease_until=None,
            lease_owner=None,
            last_error="held back: a backup was restored, and the mail may have been sent before",
        )
    )
    done = db.execute(held, execution_options={"synchronize_session": False})
    return cast(CursorResult[Any], done).rowcount


def retry(db: Session, id_: uuid.UUID | None = None) -> int:
    """Make dead mails wait for another 24 hours: the one with this id, or all; how many."""
    dead = update(OutboxMessage).where(OutboxMessage.state == "dead")
    now = clock.now()
    if id_ is not None:
        dead = dead.where(OutboxMessage.id == id_)
    revived = dead.values(
        state="waiting", next_attempt_at=now, give_up_at=now + KEEP_TRYING, ended_at=None
    ).returning(OutboxMessage.id)
    return len(db.execute(revived, execution_options={"synchronize_session": False}).all())
