"""The background task that seals the audit trail every minute.

Every process has one. The lock lets one of them seal at a time; a process that finds a seal
younger than a minute has nothing to do.
"""

import threading
from contextlib import suppress
from datetime import timedelta
from functools import partial
from secrets import randbelow
from time import perf_counter

import structlog
from sqlalchemy import Connection
from sqlalchemy.exc import SQLAlchemyError

from authsite import clock
from authsite.audit.sealing import AGE, seal_events
from authsite.audit.seals import AuditKeys, audit_keys, newest_seal
from authsite.audit.stored import moment_of
from authsite.context import Job, Services
from authsite.counters import TASK_SUCCESS
from authsite.db import Database

from .background import log_failure
from .leader import Lock, held, own_connection

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
    TASK_SUCCESS.begin("audit_sealing")
    last_error = ""
    while not stop.wait(INTERVAL.total_seconds() + randbelow(round(JITTER * 1000)) / 1000):
        try:
            if _is_due(database, keys):
                _seal_alone(database, keys, stop)
        except Exception as error:  # also a bug: the thread must not end with it
            last_error = log_failure(log, "audit_sealing_failed", error, last_error)
        else:
            if last_error:
                log.info("audit_sealing_recovered")
            last_error = ""
            TASK_SUCCESS.note("audit_sealing")
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


def _is_due(database: Database, keys: AuditKeys) -> bool:
    """Whether the newest seal is a minute old; False for the processes that come after the first.

    A clock that differs makes a seal late by as much, or one more of them.
    """
    with database.autocommit.connect() as connection:
        newest = newest_seal(connection, keys)
    at = newest and moment_of(newest.at)
    return at is None or abs(clock.now() - at) >= INTERVAL


def _seal_alone(database: Database, keys: AuditKeys, stop: threading.Event) -> None:
    with own_connection(database) as connection, held(connection, Lock.SEALING) as acquired:
        if not acquired:
            return
        began = perf_counter()
        for _seal in seal_events(connection, keys, clock.now()):
            if stop.wait(REST * (perf_counter() - began)):
                return
            began = perf_counter()
