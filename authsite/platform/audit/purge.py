"""Delete old rows of the audit trail, whole segments at a time."""

from collections.abc import Iterator
from datetime import datetime
from typing import NamedTuple

import structlog
from sqlalchemy import Connection, Select, delete, func, select, update

from authsite.platform.db import batches
from authsite.platform.db.batches import Batch
from authsite.platform.db.transaction import snapshot_on, transaction_on
from authsite.platform.settings import Settings

from .models import AuditEvent
from .seals.proofs import purged_mac_of
from .seals.seal import AuditKeys, Seal, audit_keys
from .seals.sealing import AGE, seal_events
from .seals.stored import SEALS, moment_of
from .seals.verification import Problem, checked

log = structlog.get_logger("authsite.audit")


class _Refused(Exception):
    """The next events, or their seal, do not verify: deleting them would hide that."""

    def __init__(self, problem: Problem) -> None:
        super().__init__(problem.text)
        self.problem = problem


class _Purgeable(NamedTuple):
    """The events of one batch: all up to the last one of ``seal``, ``rows`` in number."""

    seal: Seal
    rows: int


def purge(connection: Connection, now: datetime, cfg: Settings) -> Iterator[Batch]:
    """Delete the events that are older than ``audit-keep``, then seal those without a seal.

    With ``forever`` nothing is deleted. An event is sealed before it is deleted. The last seal of
    the deleted events stays, with a proof that authsite deleted them, so that the later events
    still verify. The newest event stays, because SQLite would give its id to the next event. At the
    first seal that does not verify, the purge stops: it keeps the events of that seal and all later
    ones.
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
    """Return the problem that prevents the next purge from deleting anything, or None.

    There is none as long as no event is old enough. All reads are of one snapshot of the database;
    a purge may run at the same time. Raises SQLAlchemy's errors.
    """
    if cfg.audit_keep is not None:
        try:
            with snapshot_on(connection):
                if connection.scalar(_old(now - cfg.audit_keep)) is not None:
                    _purgeable(connection, audit_keys(cfg), now - cfg.audit_keep)
        except _Refused as refused:
            return refused.problem
    return None


def _purge(connection: Connection, keys: AuditKeys, end: datetime) -> Iterator[Batch]:
    sealing = seal_events(connection, keys, end + AGE)
    first_id = connection.scalar(_old(end).order_by(AuditEvent.at)) or 0
    last_id = connection.scalar(_old(end).order_by(AuditEvent.at.desc()))
    while last_id:
        chosen = _delete(connection, keys, end)
        if chosen:
            done = (chosen.seal.last_id - first_id) / max(last_id - first_id, 1)
            yield Batch(chosen.rows, min(max(done, 0.0), 1.0))
        elif next(sealing, None) is None:
            return


def _old(end: datetime) -> "Select[int]":
    """An event that is old enough to be deleted."""
    return select(AuditEvent.id).where(AuditEvent.at <= end).limit(1)


def _purgeable(connection: Connection, keys: AuditKeys, end: datetime) -> _Purgeable | None:
    """The next events to delete: at most `batches.ROWS`, or all of one seal. None without any.

    They end before a seal that does not verify. If no events come before it, `_Refused` is raised.
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
    """Verify and delete the next events in one transaction; return what was deleted, or None."""
    with transaction_on(connection):
        chosen = _purgeable(connection, keys, end)
        if chosen is None:
            return None
        seal = chosen.seal
        events = delete(AuditEvent).where(AuditEvent.id <= seal.last_id)
        if connection.execute(events).rowcount != chosen.rows:
            text = "an event was added or deleted while the purge ran"
            raise _Refused(Problem(seal.id, seal.first_id, seal.last_id, seal.newest_at, text))
        connection.execute(delete(SEALS).where(SEALS.c.id < seal.id))
        proof = purged_mac_of(keys[0].key, seal)
        connection.execute(update(SEALS).where(SEALS.c.id == seal.id).values(purged_mac=proof))
    return chosen
