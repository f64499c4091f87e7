"""Repeating a transaction that PostgreSQL rolled back because of a concurrent one.

A serialization failure and a deadlock (PostgreSQL manual, 13.5) mean that nothing was committed and
that the same transaction may succeed the next time.
"""

import time
from secrets import randbelow

from sqlalchemy.exc import DBAPIError

RETRIES = 3
_SQLSTATES = ("40001", "40P01")  # serialization_failure, deadlock_detected
_PAUSE = 30  # milliseconds at most; at random, so that the two transactions do not meet again


def is_conflict(error: BaseException) -> bool:
    """Whether the server rolled the transaction back because of a concurrent one."""
    cause = error.orig if isinstance(error, DBAPIError) else error
    return getattr(cause, "sqlstate", None) in _SQLSTATES


def pause(attempt: int) -> None:
    """Wait before the next attempt; ``attempt``: how many there were."""
    time.sleep(attempt * (5 + randbelow(_PAUSE - 5)) / 1000)
