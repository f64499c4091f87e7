"""The outbox from the side of a sender: claim, hold, settle.

A claim is a lease of 60 seconds, so a sender that was killed holds nothing up for longer. Several
senders share one outbox; times are those of the sender's machine, whose clocks must agree within
some seconds (they do under NTP).
"""

import uuid
from collections.abc import Sequence
from dataclasses import dataclass, fields
from datetime import datetime, timedelta
from typing import Any

from sqlalchemy import and_, bindparam, or_, select, update

from authsite.db import Database

from .models import MAX_ERROR, WAITING, Outgoing, State

LEASE = timedelta(seconds=60)
BATCH = 20


@dataclass(frozen=True, slots=True)
class Claimed:
    """A row of the outbox that a sender has claimed."""

    id: uuid.UUID
    letter: str
    user_id: uuid.UUID | None
    address: str
    page_url: str | None
    base_url: str | None
    language: str
    expires_at: datetime | None
    created_at: datetime
    give_up_at: datetime
    attempts: int
    lease_until: datetime


@dataclass(frozen=True, slots=True)
class Outcome:
    """What became of one attempt; with ``next_attempt_at`` the row goes on waiting."""

    id: uuid.UUID
    state: State
    at: datetime
    error: str | None = None
    next_attempt_at: datetime | None = None


_COLUMNS = [getattr(Outgoing, field.name) for field in fields(Claimed)]
_FREE = and_(
    WAITING,
    Outgoing.next_attempt_at <= bindparam("now"),
    or_(
        Outgoing.lease_until.is_(None),
        Outgoing.lease_until < bindparam("now"),
        # A sender works on one batch at a time: what it still holds when it asks again is left
        # over from a failure.
        Outgoing.lease_owner == bindparam("owner"),
    ),
)
_DUE = select(Outgoing.id).where(_FREE).limit(1)
# In a CTE, not in IN (SELECT …): PostgreSQL could run that again and claim more than the limit.
_NEXT = (
    select(Outgoing.id)
    .where(_FREE)
    .order_by(Outgoing.next_attempt_at)
    .limit(BATCH)
    .with_for_update(skip_locked=True)  # SQLite has one writer at a time and needs no words for it
    .cte("next")
)
_CLAIM = (
    update(Outgoing)
    .where(Outgoing.id.in_(select(_NEXT.c.id)))
    .values(lease_until=bindparam("until"), lease_owner=bindparam("owner"))
    .returning(*_COLUMNS, Outgoing.next_attempt_at)
)


def claim(database: Database, now: datetime, owner: str) -> list[Claimed]:
    """At most `BATCH` letters that are due, the longest waiting first, now leased by ``owner``."""
    with database.reader.connect() as connection:
        # Nobody's write lock is asked for only to learn that there is nothing to do.
        if connection.execute(_DUE, {"now": now, "owner": owner}).first() is None:
            return []
    with database.writer.begin() as connection:
        rows = connection.execute(
            _CLAIM, {"now": now, "owner": owner, "until": now + LEASE}
        ).fetchall()
    rows = sorted(rows, key=lambda row: (row.next_attempt_at, row.created_at))
    return [Claimed(*row[: len(_COLUMNS)]) for row in rows]


def renew(database: Database, now: datetime, owner: str, id_: uuid.UUID) -> bool:
    """Begin the lease anew; False when somebody else has the letter or it has ended."""
    return _write(database, update(Outgoing).where(
        Outgoing.id == id_, Outgoing.lease_owner == owner, WAITING
    ).values(lease_until=now + LEASE)) == 1  # fmt: skip


def release(database: Database, owner: str, ids: Sequence[uuid.UUID]) -> None:
    """Let go of those among ``ids`` that ``owner`` holds and has not settled."""
    # By ids: to look for the owner's is to look at all that wait, most when no mail can leave.
    _write(database, update(Outgoing).where(
        Outgoing.id.in_(ids), Outgoing.lease_owner == owner, WAITING
    ).values(lease_until=None, lease_owner=None))  # fmt: skip


def settle(database: Database, owner: str, outcomes: Sequence[Outcome]) -> None:
    """Write down what became of letters.

    A sent letter is sent, even if its lease was lost meanwhile; any other outcome counts only
    for its owner.
    """
    with database.writer.begin() as connection:
        for each in outcomes:
            change = update(Outgoing).where(Outgoing.id == each.id, WAITING)
            if each.state != "sent":
                change = change.where(Outgoing.lease_owner == owner)
            connection.execute(change.values(_changes(each)))


def _changes(outcome: Outcome) -> dict[str, Any]:
    changes: dict[str, Any] = {
        "state": outcome.state,
        "lease_until": None,
        "lease_owner": None,
        "last_error": one_line(outcome.error) if outcome.error else None,
    }
    if outcome.state != "expired":
        changes["attempts"] = Outgoing.attempts + 1
    if outcome.next_attempt_at:
        changes["next_attempt_at"] = outcome.next_attempt_at
    else:
        changes["ended_at"] = outcome.at
    return changes


def one_line(text: str) -> str:
    """A mail server's words as we keep them: one printable line of bounded length."""
    words = " ".join("".join(char if char.isprintable() else " " for char in text).split())
    return words[:MAX_ERROR]


def _write(database: Database, statement: Any) -> int:
    with database.writer.begin() as connection:
        return int(connection.execute(statement).rowcount)
