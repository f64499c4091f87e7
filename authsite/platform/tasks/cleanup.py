"""The cleanups of all packages: each deletes in batches, with a pause after each batch."""

import threading
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from datetime import datetime
from functools import partial
from secrets import randbelow
from time import perf_counter
from typing import NamedTuple

import structlog
from sqlalchemy import Connection, select
from sqlalchemy.exc import SQLAlchemyError

from authsite.platform.context import Job, Services
from authsite.platform.db import Database
from authsite.platform.db.batches import Batch
from authsite.platform.registrations import Registered
from authsite.platform.runtime import clock
from authsite.platform.settings import Settings

from .background import Attempts, Lock, held, own_connection

REST = 4.0  # times the duration of the batch, in which only requests use the database
PER_ROW = 0.0001  # additional seconds per deleted row, until its page is written to the disk
LONGEST_REST = 1.0  # seconds


class Cleanup(NamedTuple):
    """What ``config.add_cleanup`` registers; see there."""

    name: str
    label: str
    when: str
    batches: Callable[[Connection, datetime, Settings], Iterator[Batch]]


CLEANUPS = Registered[Cleanup]("cleanups")


class Step(NamedTuple):
    """One batch of one cleanup, and the seconds that it took."""

    cleanup: Cleanup
    deleted: int
    done: float  # of the cleanup, from 0 to 1
    seconds: float

    @property
    def rest(self) -> float:
        """How many seconds to wait before the next step."""
        return min(REST * self.seconds + PER_ROW * self.deleted, LONGEST_REST)


def steps(connection: Connection, services: Services) -> Iterator[Step]:
    """Run all cleanups, one batch per step. The caller pauses after each step, or stops.

    ``connection`` must be in AUTOCOMMIT. Raises SQLAlchemy's errors.
    """
    for cleanup in CLEANUPS.of(services).values():
        batches = cleanup.batches(connection, clock.now(), services.settings)
        while True:
            began = perf_counter()
            batch = next(batches, None)
            if batch is None:
                break
            yield Step(cleanup, *batch, perf_counter() - began)


# The background task that deletes expired rows every hour.
#
# Every process has one. The first process to acquire the leader lock keeps it until it ends; the
# others try again every hour.


log = structlog.get_logger("authsite.cleanup")

STOP_TIMEOUT = 2.0  # seconds; a batch that is interrupted is rolled back and repeated later


class Waits(NamedTuple):
    """Ranges of seconds, so that processes that start together do not act at the same time."""

    first: tuple[int, int] = (120, 300)  # not during the start of the service
    regular: tuple[int, int] = (3300, 3900)
    after_error: tuple[int, int] = (60, 120)


DEFAULT_WAITS = Waits()


def make_job(services: Services, waits: Waits = DEFAULT_WAITS) -> Job:
    """The background task that cleans up the application's database."""
    stop = threading.Event()
    task = partial(run, services, stop, waits)
    return Job(task, stop.set, STOP_TIMEOUT)


def run(services: Services, stop: threading.Event, waits: Waits) -> None:
    """Clean up every hour until ``stop`` is set. Survives every error, and logs each kind once."""
    attempts, wait = Attempts("cleanup", log), waits.first
    connection: Connection | None = None
    with ExitStack() as leadership:
        while not stop.wait(_random_between(wait)):
            with attempts.attempt():
                connection = _lead(services.database, connection, leadership)
                if connection is not None:
                    _clean_up_alone(connection, services, stop)
            if attempts.error:
                leadership.close()
            wait = waits.after_error if attempts.error else waits.regular


def _lead(
    database: Database, connection: Connection | None, leadership: ExitStack
) -> Connection | None:
    """The connection that holds the leader lock, or None while another process holds it.

    The connection stays open between cleanups; if it was lost, it is replaced without a log line.
    """
    if connection is not None:
        try:
            connection.execute(select(1))
            return connection
        except SQLAlchemyError:
            leadership.close()
    connection = leadership.enter_context(own_connection(database))
    if leadership.enter_context(held(connection, Lock.LEADER)):
        return connection
    leadership.close()
    return None


def _clean_up_alone(connection: Connection, services: Services, stop: threading.Event) -> None:
    with held(connection, Lock.CLEANUP) as acquired:
        if acquired:
            clean_up(connection, services, stop)
        else:
            log.info("purge_skipped")  # `authsite purge` is running


def clean_up(connection: Connection, services: Services, stop: threading.Event) -> None:
    """Run all cleanups, or until ``stop`` is set; log the counts, at level debug if all are 0."""
    began, slowest = perf_counter(), 0.0
    deleted = dict.fromkeys(CLEANUPS.of(services), 0)
    for step in steps(connection, services):
        deleted[step.cleanup.name] += step.deleted
        slowest = max(slowest, step.seconds)
        if stop.wait(step.rest):
            break
    seconds = round(perf_counter() - began, 1)
    slowest_ms, whole = round(slowest * 1000), not stop.is_set()
    report = log.info if any(deleted.values()) else log.debug
    report("purged", **deleted, seconds=seconds, slowest_batch_ms=slowest_ms, whole=whole)


def _random_between(limits: tuple[int, int]) -> float:
    least, most = limits
    return least + randbelow(1 + (most - least) * 1000) / 1000
