"""Writes that the storage of the database refuses: counted, and logged once a minute.

Reading goes on then, so guards answer as before, and the process stays ready.
"""

import sqlite3
from datetime import timedelta

import structlog

from authsite.platform.runtime.counters import WRITE_FAILURES
from authsite.platform.runtime.seldom import Seldom

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
