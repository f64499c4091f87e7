"""Reading that ends after five seconds: a search must not take the database from the others."""

import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from time import monotonic
from typing import Any

from sqlalchemy import Connection
from sqlalchemy.exc import DBAPIError
from sqlalchemy.orm import Session

from authsite.platform.context import Context

from .errors import SearchTooWide

LIMIT = 5.0  # seconds of one statement; on SQLite of all
STEPS = 100_000  # of SQLite's virtual machine, between two looks at the clock
CANCELED = "57014"  # SQLSTATE query_canceled (PostgreSQL manual, appendix A)


@contextmanager
def limited(ctx: Context) -> Iterator[Session]:
    """A session apart from the request's, which only reads. Raises `SearchTooWide`.

    What it returns stays usable when the block has ended.
    """
    database = ctx.database
    sqlite = database.autocommit.dialect.name == "sqlite"
    engine = database.autocommit if sqlite else database.transactional
    with engine.connect() as connection, Session(connection, expire_on_commit=False) as db:
        undo = _limit(connection)
        try:
            yield db
        except DBAPIError as error:
            if _took_too_long(error):
                raise SearchTooWide from None
            raise
        finally:
            if undo:
                undo.set_progress_handler(None, 0)


def _limit(connection: Connection) -> sqlite3.Connection | None:
    """Set the limit; returns the connection of SQLite, which has to end it."""
    if connection.dialect.name != "sqlite":
        connection.exec_driver_sql("SET TRANSACTION READ ONLY")
        connection.exec_driver_sql(f"SET LOCAL statement_timeout = {int(LIMIT * 1000)}")
        return None
    driver: Any = connection.connection.dbapi_connection
    end = monotonic() + LIMIT
    driver.set_progress_handler(lambda: monotonic() > end, STEPS)
    found: sqlite3.Connection = driver
    return found


def _took_too_long(error: DBAPIError) -> bool:
    cause = error.orig
    return getattr(cause, "sqlstate", None) == CANCELED or str(cause) == "interrupted"
