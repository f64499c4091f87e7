"""The numbers of the outbox: how many mails wait, and for how long."""

from datetime import datetime
from typing import NamedTuple

from sqlalchemy import bindparam, func, select
from sqlalchemy.exc import SQLAlchemyError

from authsite import clock
from authsite.db import Database, PreparedQuery
from authsite.mail.models import WAITING, OutboxMessage
from authsite.mail.outbox import KEEP_TRYING


class OutboxNumbers(NamedTuple):
    """What waits in the outbox; the ages are 0 without such a mail."""

    mails: int
    oldest_seconds: float
    """The age of the oldest mail that waits."""
    due_seconds: float
    """For how long the sender should have tried a mail already."""


class _Waiting(NamedTuple):
    mails: int
    created: datetime | None
    due: datetime | None


_WAITING = PreparedQuery(
    select(
        func.count().label("mails"),
        func.min(OutboxMessage.created_at).label("created"),
        func.min(OutboxMessage.next_attempt_at).label("due"),
    ).where(WAITING, OutboxMessage.next_attempt_at <= bindparam("until")),
    _Waiting,
)


def outbox_numbers(database: Database) -> OutboxNumbers | None:
    """The numbers now; None if the database does not answer."""
    now = clock.now()
    try:
        # All of them: a mail waits a day at most. With a range every database uses the index.
        waiting = _WAITING.one(database, until=now + 2 * KEEP_TRYING)
    except SQLAlchemyError:
        return None
    if waiting is None:
        return None
    return OutboxNumbers(waiting.mails, _age(now, waiting.created), _age(now, waiting.due))


def _age(now: datetime, moment: datetime | None) -> float:
    return max(0.0, (now - moment).total_seconds()) if moment else 0.0
