"""Make seals: a writer pays for its own insert only, and a seal is made later."""

import hmac
import threading
import time
from collections.abc import Iterator
from contextlib import suppress
from datetime import datetime, timedelta
from functools import partial
from secrets import randbelow
from time import perf_counter

import structlog
from sqlalchemy import Connection, select, text
from sqlalchemy.exc import IntegrityError, SQLAlchemyError

from authsite.platform.audit.models import AuditEvent
from authsite.platform.context import Job, Services
from authsite.platform.db import Database, batches
from authsite.platform.runtime import clock
from authsite.platform.tasks.background import Attempts, Lock, held, own_connection

from .late import is_old
from .proofs import new_seal
from .seal import AuditKeys, Seal, audit_keys
from .stored import SEALS, moment_of
from .table import insert_seal, newest_seal, read_segment, seals_with_ids

log = structlog.get_logger("authsite.audit")

AGE = timedelta(minutes=1)  # of an event that is sealed
WRITERS_TIMEOUT = 5.0  # seconds; a transaction of a request has ended by then
WRITERS_POLL = 0.05  # seconds

# A transaction that inserts takes this lock before it gets an id, and has it until its end.
_WRITERS = text(
    "SELECT virtualtransaction FROM pg_locks WHERE relation = 'audit_events'::regclass"
    " AND database = (SELECT oid FROM pg_database WHERE datname = current_database())"
    " AND mode = 'RowExclusiveLock' AND granted"
)


def seal_events(connection: Connection, keys: AuditKeys, now: datetime) -> Iterator[Seal]:
    """Seal the events that are older than a minute, and yield each seal after it is committed.

    A seal covers at most `batches.ROWS` events. If another process seals at the same time, one of
    both ends: the id of a seal is that of the one before plus one. ``connection`` must be in
    AUTOCOMMIT. Raises SQLAlchemy's errors.
    """
    former = newest_seal(connection, keys)
    last = _sealable_id(connection, former.last_id if former else None, now - AGE)
    while last is not None and (former is None or former.last_id < last):
        seal = _next_seal(connection, keys, former, last)
        if seal is None:
            return
        yield seal
        former = seal


def _next_seal(
    connection: Connection, keys: AuditKeys, former: Seal | None, last: int
) -> Seal | None:
    """Seal the next events up to the id ``last``; None if another process has done so."""
    id_ = (former.id if former else 0) + 1
    taken = select(SEALS.c.id).where(SEALS.c.id >= id_).order_by(SEALS.c.id)
    for other in connection.scalars(taken).all():  # by others than authsite
        if other > id_:
            break
        id_ += 1
    after = former.last_id if former else None
    if id_ > 1 + (former.id if former else 0) and newest_seal(connection, keys) != former:
        return None
    segment = read_segment(connection, after, last, at_most=batches.ROWS)
    if segment is None:
        return None  # deleted since
    seal = new_seal(keys[0].key, id_, former, segment)
    try:
        insert_seal(connection, seal)
    except IntegrityError:
        return None
    # After the commit: a seal that is in the log but not in the table was deleted from the table.
    log.info("audit_sealed", seal=seal.id, last_id=seal.last_id, rows=seal.rows, mac=seal.mac)
    if is_old(segment.oldest, clock.now()):
        if former is None:
            # There are no seals of before: this is the first start, or they were deleted.
            log.error("audit_chain_restarted", seal=seal.id, rows=seal.rows)
        else:
            log.warning("audit_sealed_late", seal=seal.id, rows=seal.rows)
    return seal


def _sealable_id(connection: Connection, after: int | None, until: datetime) -> int | None:
    """The latest id of an event before ``until`` below which no event can still be committed.

    PostgreSQL gives ids in the order of the inserts, which is not that of the commits. An event
    with a smaller id that is not committed belongs to a transaction that inserts now, so it is
    waited for. None without new events, or if a transaction lasts too long; then a later call will
    find the events.
    """
    statement = select(AuditEvent.id).where(AuditEvent.at <= until).limit(1)
    if after is None:  # there may be millions: by the index of the time
        statement = statement.order_by(AuditEvent.at.desc(), AuditEvent.id.desc())
    else:
        statement = statement.where(AuditEvent.id > after).order_by(AuditEvent.id.desc())
    last = connection.scalar(statement)
    if last is None or connection.dialect.name == "sqlite":  # one writer at a time
        return last
    deadline = time.monotonic() + WRITERS_TIMEOUT
    writers = set(connection.scalars(_WRITERS))
    while writers:
        if time.monotonic() > deadline:
            log.info("audit_sealing_delayed", writers=len(writers))
            return None
        time.sleep(WRITERS_POLL)
        writers &= set(connection.scalars(_WRITERS))
    return last


# The background task that seals the audit trail every minute.
#
# Every process has one. The lock lets one of them seal at a time; a process that finds a seal
# younger than a minute has nothing to do. Each remembers the newest seal that it has seen: if
# that is gone a minute later, it was deleted by other means.


INTERVAL = timedelta(minutes=1)
JITTER = 10.0  # seconds, so that processes that start together do not act at the same time
REST = 4.0  # times the duration of the last seal, in which only requests use the database
STOP_TIMEOUT = 2.0  # seconds; a seal that is interrupted is made again


def make_job(services: Services) -> Job:
    """The background task that seals the audit trail of the application's database."""
    stop = threading.Event()
    task = partial(run, services.database, audit_keys(services.settings), stop)
    return Job(task, stop.set, STOP_TIMEOUT)


def run(database: Database, keys: AuditKeys, stop: threading.Event) -> None:
    """Seal every minute until ``stop`` is set. Survives every error, and logs each kind once.

    At the end it seals what is there, so that the next start finds nothing old.
    """
    attempts = Attempts("audit_sealing", log)
    seen: Seal | None = None
    while not stop.wait(INTERVAL.total_seconds() + randbelow(round(JITTER * 1000)) / 1000):
        with attempts.attempt():
            seen = _newest(database, keys, seen)
            if _is_due(seen):
                seen = _seal_alone(database, keys, stop) or seen
    with (
        suppress(SQLAlchemyError),
        own_connection(database) as connection,
        held(connection, Lock.SEALING) as acquired,
    ):
        if acquired:
            seal_rest(connection, keys)


def seal_rest(connection: Connection, keys: AuditKeys) -> None:
    """Seal all events, also those of the last minute: no process may do so for a long time.

    ``connection`` must be in AUTOCOMMIT. Raises SQLAlchemy's errors.
    """
    for _seal in seal_events(connection, keys, clock.now() + AGE):
        pass


def _newest(database: Database, keys: AuditKeys, seen: Seal | None) -> Seal | None:
    """The newest seal. Logs an error if ``seen``, the newest of a minute ago, is not there."""
    with database.autocommit.connect() as connection:
        if seen is not None:
            found = seals_with_ids(connection, {seen.id}).get(seen.id)
            if found is None or not hmac.compare_digest(found.mac, seen.mac):
                log.error("audit_seal_deleted", seal=seen.id, mac=seen.mac)
        return newest_seal(connection, keys)


def _is_due(newest: Seal | None) -> bool:
    """Whether the newest seal is a minute old; False for the processes that come after the first.

    A clock that differs makes a seal late by as much, or one more of them.
    """
    at = newest and moment_of(newest.at)
    return at is None or abs(clock.now() - at) >= INTERVAL


def _seal_alone(database: Database, keys: AuditKeys, stop: threading.Event) -> Seal | None:
    """Seal; the last seal that was made, if any."""
    made = None
    with own_connection(database) as connection, held(connection, Lock.SEALING) as acquired:
        if not acquired:
            return None
        began = perf_counter()
        for seal in seal_events(connection, keys, clock.now()):
            made = seal
            if stop.wait(REST * (perf_counter() - began)):
                break
            began = perf_counter()
    return made
