"""The janitor as a thread of a server process.

Every process has one. The first one to come takes the duty and keeps it while it lives; the others
look every hour whether the duty is free.
"""

import threading
from contextlib import ExitStack
from secrets import randbelow
from time import perf_counter
from typing import Any, NamedTuple

import structlog
from sqlalchemy import Connection, select
from sqlalchemy.exc import SQLAlchemyError

from authsite import background
from authsite.db import Database
from authsite.settings import Settings

from .lock import Lock, held, own_connection
from .round import PARTS, steps

log = structlog.get_logger("authsite.janitor")

LAST_BATCH = 2.0  # seconds; a batch that is cut off is rolled back, and done in the next round


class Waits(NamedTuple):
    """Seconds, each from the least to the most: processes that start together drift apart."""

    first: tuple[int, int] = (120, 300)  # a start, and a crash soon after it, is not delayed
    round: tuple[int, int] = (3300, 3900)
    trouble: tuple[int, int] = (60, 120)


def start(registry: Any, waits: Waits = Waits()) -> None:  # noqa: B008  immutable
    """Purge the application's database from now on, until the process ends."""
    stop = threading.Event()
    arguments = (registry["authsite.database"], registry["authsite.settings"], stop, waits)
    background.start("janitor", run, *arguments, end=stop.set, patience=LAST_BATCH)


def run(database: Database, cfg: Settings, stop: threading.Event, waits: Waits) -> None:
    """Purge every hour until ``stop`` is set. Outlives every trouble, and logs each once."""
    trouble, wait = "", waits.first
    connection: Connection | None = None
    with ExitStack() as duty:
        while not stop.wait(_between(wait)):
            try:
                connection = _on_duty(database, connection, duty)
                if connection is not None:
                    _round(connection, cfg, stop)
            except Exception as error:  # also a bug: the thread must not end with it
                duty.close()
                connection = None
                trouble, wait = _noted(error, trouble), waits.trouble
            else:
                if trouble:
                    log.info("janitor_works_again")
                trouble, wait = "", waits.round


def _on_duty(
    database: Database, connection: Connection | None, duty: ExitStack
) -> Connection | None:
    """The connection that holds the duty, or None while another process has it.

    It is kept from round to round, and replaced without a word if it was lost meanwhile.
    """
    if connection is not None:
        try:
            connection.execute(select(1))
            return connection
        except SQLAlchemyError:
            duty.close()
    connection = duty.enter_context(own_connection(database))
    if duty.enter_context(held(connection, Lock.DUTY)):
        return connection
    duty.close()
    return None


def _round(connection: Connection, cfg: Settings, stop: threading.Event) -> None:
    with held(connection, Lock.ROUND) as free:
        if free:
            purge(connection, cfg, stop)
        else:
            log.info("purge_left_to_another")  # `authsite purge` is at it


def purge(connection: Connection, cfg: Settings, stop: threading.Event) -> None:
    """One round, or what of it is done when ``stop`` is set; one line in the log."""
    began, slowest = perf_counter(), 0.0
    deleted = {part.name: 0 for part in PARTS}
    for step in steps(connection, cfg):
        deleted[step.part.name] += step.deleted
        slowest = max(slowest, step.seconds)
        if stop.wait(step.rest):
            break
    log.info(
        "purged", **deleted, seconds=round(perf_counter() - began, 1),
        slowest_batch_ms=round(slowest * 1000), whole=not stop.is_set(),
    )  # fmt: skip


def _between(waits: tuple[int, int]) -> float:
    least, most = waits
    return least + randbelow(1 + (most - least) * 1000) / 1000


def _noted(error: Exception, trouble: str) -> str:
    """The kind of trouble; logged when it is another than before."""
    kind = type(error).__name__
    if kind != trouble:
        cause = {} if isinstance(error, SQLAlchemyError) else {"exc_info": error}
        log.warning("janitor_waits", reason=kind, **cause)
    return kind
