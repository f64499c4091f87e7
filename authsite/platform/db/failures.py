"""Repeating a transaction that PostgreSQL rolled back because of a concurrent one.

A serialization failure and a deadlock (PostgreSQL manual, 13.5) mean that nothing was committed and
that the same transaction may succeed the next time.
"""

import sqlite3
import time
from datetime import timedelta
from secrets import randbelow

import structlog
from sqlalchemy.exc import DBAPIError

from authsite.platform.runtime.counters import WRITE_FAILURES
from authsite.platform.runtime.seldom import Seldom

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


# Writes that the storage of the database refuses: counted, and logged once a minute.
#
# Reading goes on then, so guards answer as before, and the process stays ready.


log = structlog.get_logger("authsite.db")

# https://www.postgresql.org/docs/current/errcodes-appendix.html: read_only_sql_transaction,
# disk_full, io_error.
_POSTGRESQL = frozenset({"25006", "53100", "58030"})
# https://sqlite.org/rescode.html: the lower byte is the primary code.
_SQLITE = frozenset({sqlite3.SQLITE_READONLY, sqlite3.SQLITE_IOERR, sqlite3.SQLITE_FULL})
_LINE = Seldom(timedelta(minutes=1))


def note_failure(error: BaseException | None) -> None:
    """Count ``error`` of the driver if it says that nothing can be written, such as a full disk."""
    if not is_write_failure(error):
        return
    WRITE_FAILURES.add()
    if _LINE.due():
        log.error("write_failed", error=type(error).__name__, cause=str(error)[:200])


def is_write_failure(error: BaseException | None) -> bool:
    """Whether the driver's ``error`` is a refusal of the storage: full, broken or read-only."""
    if getattr(error, "sqlstate", None) in _POSTGRESQL:
        return True
    return getattr(error, "sqlite_errorcode", 0) & 0xFF in _SQLITE
