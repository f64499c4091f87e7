"""The background task that seals the audit trail every minute.

Every process has one. The lock lets one of them seal at a time; a process that finds a seal
younger than a minute has nothing to do. Each remembers the newest seal that it has seen: if that is
gone a minute later, it was deleted by other means.
"""

import hmac
import threading
from contextlib import suppress
from datetime import timedelta
from functools import partial
from secrets import randbelow
from time import perf_counter

import structlog
from sqlalchemy import Connection
from sqlalchemy.exc import SQLAlchemyError

from authsite.platform.context import Job, Services
from authsite.platform.db import Database
from authsite.platform.runtime import clock
from authsite.platform.tasks.background import Attempts
from authsite.platform.tasks.leader import Lock, held, own_connection

from .keys import AuditKeys, audit_keys
from .seal import Seal
from .sealing import AGE, seal_events
from .stored import moment_of
from .table import newest_seal, seals_with_ids

log = structlog.get_logger("authsite.audit")

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
