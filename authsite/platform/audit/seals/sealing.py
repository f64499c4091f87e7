"""Make seals: a writer pays for its own insert only, and a seal is made later."""

import time
from collections.abc import Iterator
from datetime import datetime, timedelta

import structlog
from sqlalchemy import Connection, select, text
from sqlalchemy.exc import IntegrityError

from authsite.platform.audit.models import AuditEvent
from authsite.platform.db import batches
from authsite.platform.runtime import clock

from .keys import AuditKeys
from .late import is_old
from .proofs import new_seal
from .seal import Seal
from .stored import SEALS
from .table import insert_seal, newest_seal, read_segment

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
