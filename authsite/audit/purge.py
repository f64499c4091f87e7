"""Delete old rows of the audit trail, whole segments at a time."""

from collections.abc import Iterator
from datetime import datetime
from typing import NamedTuple

import structlog
from sqlalchemy import Connection, delete, func, select, update

from authsite.db import batches
from authsite.db.autocommit import snapshot_on, transaction_on
from authsite.db.batches import Batch
from authsite.settings import Settings

from .models import AuditEvent
from .sealing import AGE, seal_events
from .seals import AuditKeys, Seal, audit_keys, purged_mac_of
from .stored import SEALS, moment_of
from .verify import Problem, checked

log = structlog.get_logger("authsite.audit")


class _Refused(Exception):
    """What is to be deleted does not verify: a purge would hide that."""

    def __init__(self, problem: Problem) -> None:
        super().__init__(problem.text)
        self.problem = problem


class _Purgeable(NamedTuple):
    """The next seal up to whose end events are deleted, and the number of those events."""

    seal: Seal
    rows: int


def purge(connection: Connection, now: datetime, cfg: Settings) -> Iterator[Batch]:
    """Delete sealed events that are older than ``audit-keep``, unless it is ``forever``.

    What is not sealed yet is sealed first. The last seal of what is deleted stays, with the proof
    that authsite deleted it, so that the rest still verifies. The newest event stays: SQLite would
    give its id again. What does not verify is not deleted, and nothing after it.
    """
    keys = audit_keys(cfg)
    if cfg.audit_keep is not None:
        try:
            yield from _purge(connection, keys, now - cfg.audit_keep)
        except _Refused as refused:
            problem = refused.problem
            log.error("audit_purge_refused", seal=problem.seal, reason=problem.text)
    for _seal in seal_events(connection, keys, now):
        yield Batch(0, 1.0)


def purge_problem(connection: Connection, now: datetime, cfg: Settings) -> Problem | None:
    """Why the next purge will delete nothing; None if it will, or has nothing to do.

    It reads one state of the database, beside a purge that runs. Raises SQLAlchemy's errors.
    """
    if cfg.audit_keep is not None:
        try:
            with snapshot_on(connection):
                _purgeable(connection, audit_keys(cfg), now - cfg.audit_keep)
        except _Refused as refused:
            return refused.problem
    return None


def _purge(connection: Connection, keys: AuditKeys, end: datetime) -> Iterator[Batch]:
    sealing = seal_events(connection, keys, end + AGE)
    old = select(AuditEvent.id).where(AuditEvent.at <= end).limit(1)
    first = connection.scalar(old.order_by(AuditEvent.at)) or 0
    last = connection.scalar(old.order_by(AuditEvent.at.desc()))
    while last:
        chosen = _delete(connection, keys, end)
        if chosen:
            done = (chosen.seal.last_id - first) / max(last - first, 1)
            yield Batch(chosen.rows, min(max(done, 0.0), 1.0))
        elif next(sealing, None) is None:
            return


def _purgeable(connection: Connection, keys: AuditKeys, end: datetime) -> _Purgeable | None:
    """The next events to delete, about so many as a batch may have; None if there are none.

    Raises `_Refused` if one of them, or of their seals, is not as it was.
    """
    newest_id = connection.scalar(select(func.max(AuditEvent.id)))
    chosen: _Purgeable | None = None
    for found in checked(connection, keys):
        seal, rows = found.seal, (chosen.rows if chosen else 0) + found.rows
        if found.problems:
            if chosen:
                break
            raise _Refused(found.problems[0])
        if found.purged:
            continue
        newest_at = moment_of(seal.newest_at)
        if newest_at is None or newest_at > end or newest_id is None or seal.last_id >= newest_id:
            break
        if chosen and rows > batches.ROWS:
            break
        chosen = _Purgeable(seal, rows)
    return chosen


def _delete(connection: Connection, keys: AuditKeys, end: datetime) -> _Purgeable | None:
    """Delete the next events, in the transaction that has verified them; what it has deleted."""
    with transaction_on(connection):
        chosen = _purgeable(connection, keys, end)
        if chosen is None:
            return None
        seal = chosen.seal
        events = delete(AuditEvent).where(AuditEvent.id <= seal.last_id)
        if connection.execute(events).rowcount != chosen.rows:
            text = "an event was added or deleted meanwhile"
            raise _Refused(Problem(seal.id, seal.first_id, seal.last_id, seal.newest_at, text))
        connection.execute(delete(SEALS).where(SEALS.c.id < seal.id))
        proof = purged_mac_of(keys[0].key, seal)
        connection.execute(update(SEALS).where(SEALS.c.id == seal.id).values(purged_mac=proof))
    return chosen
