"""The outbox as senders use it: claim rows, renew and release leases, record outcomes.

A claim is a lease of 60 seconds, so the mails of a killed sender are delayed by at most that long.
Several senders share one outbox. Times come from the clock of the sender's machine; the clocks must
agree within some seconds (NTP).
"""

import uuid
from collections.abc import Sequence
from dataclasses import dataclass, fields
from datetime import datetime, timedelta
from typing import Any

from sqlalchemy import Update, and_, bindparam, or_, select, update

from authsite.platform.db import Database

from .outbox import MAX_ERROR, WAITING, OutboxMessage, State

LEASE = timedelta(seconds=60)
BATCH = 20


@dataclass(frozen=True, slots=True)
class ClaimedMail:
    """A row of the outbox that a sender has claimed."""

    id: uuid.UUID
    kind: str
    user_id: uuid.UUID | None
    address: str
    page_url: str | None
    base_url: str | None
    language: str
    expires_at: datetime | None
    created_at: datetime
    give_up_at: datetime
    lease_until: datetime
    about_id: uuid.UUID | None = None
    about_since: datetime | None = None
    from_address: str | None = None
    from_agent: str | None = None


@dataclass(frozen=True, slots=True)
class Outcome:
    """The result of one delivery attempt. With ``next_attempt_at`` the row stays in the outbox."""

    id: uuid.UUID
    state: State
    at: datetime
    error: str | None = None
    next_attempt_at: datetime | None = None


_FIELDS = [field.name for field in fields(ClaimedMail)]
_FREE = and_(
    WAITING,
    OutboxMessage.next_attempt_at <= bindparam("now"),
    or_(
        OutboxMessage.lease_until.is_(None),
        OutboxMessage.lease_until < bindparam("now"),
        # A sender works on one batch at a time: rows that it still holds at the next claim are
        # left over from a failure.
        OutboxMessage.lease_owner == bindparam("owner"),
    ),
)
_DUE = select(OutboxMessage.id).where(_FREE).limit(1)
# A CTE: PostgreSQL could evaluate IN (SELECT …) again and claim more rows than the limit.
_NEXT = (
    select(OutboxMessage.id)
    .where(_FREE)
    .order_by(OutboxMessage.next_attempt_at)
    .limit(BATCH)
    .with_for_update(skip_locked=True)  # SQLite, with one writer at a time, ignores it
    .cte("next")
)
_CLAIM = (
    update(OutboxMessage)
    .where(OutboxMessage.id.in_(select(_NEXT.c.id)))
    .values(lease_until=bindparam("until"), lease_owner=bindparam("owner"))
    .returning(
        *(getattr(OutboxMessage, name).label(name) for name in _FIELDS),
        OutboxMessage.next_attempt_at,
    )
)


def claim(database: Database, now: datetime, owner: str) -> list[ClaimedMail]:
    """Lease up to `BATCH` due mails to ``owner``; the longest waiting come first."""
    with database.autocommit.connect() as connection:
        # Most polls find nothing: they take no write lock.
        if connection.execute(_DUE, {"now": now, "owner": owner}).first() is None:
            return []
    with database.transactional.begin() as connection:
        values = {"now": now, "owner": owner, "until": now + LEASE}
        rows = connection.execute(_CLAIM, values).mappings().all()
    rows = sorted(rows, key=lambda row: (row["next_attempt_at"], row["created_at"]))
    return [ClaimedMail(**{name: row[name] for name in _FIELDS}) for row in rows]


def renew(database: Database, now: datetime, owner: str, id_: uuid.UUID) -> bool:
    """Extend the lease; False if another sender holds the mail or it has ended."""
    held = _held_by(owner).where(OutboxMessage.id == id_)
    with database.transactional.begin() as connection:
        return connection.execute(held.values(lease_until=now + LEASE)).rowcount == 1


def release(database: Database, owner: str, ids: Sequence[uuid.UUID]) -> None:
    """End the leases of ``owner`` on those mails among ``ids`` that have no outcome yet."""
    # By ids: a search by owner scans all waiting mails, which are many during an outage.
    held = _held_by(owner).where(OutboxMessage.id.in_(ids))
    with database.transactional.begin() as connection:
        connection.execute(held.values(lease_until=None, lease_owner=None))


def record_outcomes(database: Database, owner: str, outcomes: Sequence[Outcome]) -> None:
    """Write the outcomes to the outbox.

    ``sent`` is written even if the lease was lost; any other state only while ``owner``
    holds the lease.
    """
    with database.transactional.begin() as connection:
        for each in outcomes:
            rows = update(OutboxMessage).where(WAITING) if each.state == "sent" else _held_by(owner)
            changes = _changes(each)
            connection.execute(rows.where(OutboxMessage.id == each.id).values(changes))


def _changes(outcome: Outcome) -> dict[str, Any]:
    changes: dict[str, Any] = {
        "state": outcome.state,
        "lease_until": None,
        "lease_owner": None,
        "last_error": one_line(outcome.error) if outcome.error else None,
    }
    if outcome.state != "expired":
        changes["delivery_attempts"] = OutboxMessage.delivery_attempts + 1
    if outcome.next_attempt_at:
        changes["next_attempt_at"] = outcome.next_attempt_at
    else:
        changes["ended_at"] = outcome.at
    return changes


def one_line(text: str) -> str:
    """``text``, such as a mail server's reply, as one printable line of bounded length."""
    line = " ".join("".join(char if char.isprintable() else " " for char in text).split())
    return line[:MAX_ERROR]


def _held_by(owner: str) -> Update:
    return update(OutboxMessage).where(OutboxMessage.lease_owner == owner, WAITING)
