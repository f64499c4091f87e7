"""The cleanups of all packages: each deletes in batches, with a pause after each batch."""

from collections.abc import Callable, Iterator
from datetime import datetime
from time import perf_counter
from typing import NamedTuple

from sqlalchemy import Connection

from authsite.platform.context import Services
from authsite.platform.db.batches import Batch
from authsite.platform.registrations import Registered
from authsite.platform.runtime import clock
from authsite.platform.settings import Settings

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
