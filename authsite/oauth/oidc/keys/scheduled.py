"""The background task that makes the first signing keys, and rotates them.

Every process has one; the lock lets one of them work at a time.
"""

import threading
from datetime import datetime
from functools import partial
from secrets import randbelow
from typing import NamedTuple

import structlog

from authsite.platform.context import Context, Job, Services
from authsite.platform.runtime import clock
from authsite.platform.tasks.background import Attempts, transaction

from .ring import ring_of
from .rotation import alone, complete, is_due, rotate, unusable_keys
from .stored import ALGORITHMS

log = structlog.get_logger("authsite.keys")

STOP_TIMEOUT = 2.0  # seconds; a rotation that is interrupted is rolled back and repeated later


class Waits(NamedTuple):
    """Ranges of seconds, so that processes that start together do not act at the same time."""

    first: tuple[int, int] = (0, 10)
    regular: tuple[int, int] = (3300, 3900)
    after_error: tuple[int, int] = (60, 120)


DEFAULT_WAITS = Waits()


def make_job(services: Services, waits: Waits = DEFAULT_WAITS) -> Job:
    """The background task for the signing keys of the application's database."""
    stop = threading.Event()
    return Job(partial(run, services, stop, waits), stop.set, STOP_TIMEOUT)


def run(services: Services, stop: threading.Event, waits: Waits) -> None:
    """Look after the keys every hour until ``stop`` is set; log each kind of error once."""
    attempts, wait = Attempts("signing_keys", log), waits.first
    while not stop.wait(_random_between(wait)):
        with attempts.attempt():
            keep_keys(services)
        wait = waits.after_error if attempts.error else waits.regular


def keep_keys(services: Services) -> None:
    """Make the keys that are missing, and rotate those that have signed for long enough.

    A key that does not open is logged as an error and never replaced. Raises SQLAlchemy's errors.
    """
    with alone(services.database, wait=0) as acquired:
        if acquired:
            with transaction(services) as ctx:
                complete(ctx)
                changed = _rotate_due(ctx, clock.now())
            if changed:
                ring_of(services).forget()


def _rotate_due(ctx: Context, now: datetime) -> bool:
    unusable = unusable_keys(ctx)
    for key in unusable:
        log.error("signing_key_unusable", kid=key.kid, alg=key.alg, state=key.state)
    changed = False
    for alg in ALGORITHMS:
        if is_due(ctx, alg, now) and all(key.alg != alg for key in unusable):
            rotated = rotate(ctx, alg)
            log.info("signing_key_rotated", kid=rotated.current, alg=alg)
            changed = True
    return changed


def _random_between(limits: tuple[int, int]) -> float:
    least, most = limits
    return least + randbelow(1 + (most - least) * 1000) / 1000
