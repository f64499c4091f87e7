"""The background task that applies the changes of large groups to their members.

Every process has one. A step locks the row of its change, and the tasks of other processes leave
out a row that is locked.
"""

import threading
from collections.abc import Sequence
from functools import partial
from secrets import randbelow
from time import perf_counter
from uuid import UUID

import structlog
from sqlalchemy import select

from authsite.platform.context import Job, Services
from authsite.platform.runtime.counters import TASK_SUCCESS
from authsite.platform.tasks.background import Attempts
from authsite.platform.tasks.transaction import transaction
from authsite.users.groups.models import GroupChange

from . import applying

log = structlog.get_logger("authsite.groups")

NAME = "group_changes"
INTERVAL, JITTER = 5.0, 2.0  # seconds, so that processes do not look at the same time
REST = 0.5  # times the duration of a step, in which only requests use the database
STOP_TIMEOUT = 2.0  # seconds; a step that is interrupted is rolled back and repeated later


def make_job(services: Services) -> Job:
    """The background task for the groups of the application's database."""
    stop = threading.Event()
    return Job(partial(run, services, stop), stop.set, STOP_TIMEOUT)


def run(services: Services, stop: threading.Event) -> None:
    """Look for changes until ``stop`` is set. Survives every error, and logs each kind once."""
    attempts = Attempts(NAME, log)
    while not stop.wait(INTERVAL + randbelow(round(JITTER * 1000)) / 1000):
        with attempts.attempt():
            apply_all(services, stop)


def apply_all(services: Services, stop: threading.Event) -> None:
    """Apply all changes to all members, or until ``stop`` is set. Raises SQLAlchemy's errors."""
    for change_id in _pending(services):
        more = True
        while more and not stop.is_set():
            began = perf_counter()
            with transaction(services) as ctx:
                more = applying.step(ctx, change_id, wait=False)
            TASK_SUCCESS.note(NAME)
            stop.wait(REST * (perf_counter() - began))


def _pending(services: Services) -> Sequence[UUID]:
    with services.database.autocommit.connect() as connection:
        oldest_first = select(GroupChange.id).order_by(GroupChange.created_at, GroupChange.id)
        return connection.scalars(oldest_first).all()
