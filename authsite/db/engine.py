"""Engines: one whose transactions write, one in AUTOCOMMIT whose statements read.

Two engines instead of one that is switched per checkout: a switch costs work on every guarded
request. Reading never opens a transaction, so nothing is held while a password is hashed.
"""

import os
import select
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from sqlalchemy import Engine, Executable, Row, create_engine, event
from sqlalchemy.engine import URL, make_url
from sqlalchemy.exc import DBAPIError

from .point import POOL_TIMEOUT, Points, hung_up

# Milliseconds. A statement that takes longer is a fault, and its caller gets a 503 (D03).
PG_OPTIONS = (
    "-c statement_timeout=3000 -c lock_timeout=2000 -c idle_in_transaction_session_timeout=10000"
)
CONNECT_TIMEOUT = 3  # seconds
SQLITE_BUSY_TIMEOUT = 5000  # milliseconds

COMMON: Mapping[str, Any] = {
    # With the lines of `Points`, a process has at most 24 connections; docs/scaling.md reckons so.
    "pool_size": 4,
    "max_overflow": 4,
    "pool_timeout": POOL_TIMEOUT,
    "hide_parameters": True,  # an error's text ends in a log, and parameters are people's data
}


@dataclass(frozen=True)
class Database:
    """The two engines of one database, and the point reads beside them."""

    writer: Engine
    reader: Engine
    points: Points = field(init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "points", Points(self.reader))

    def one(self, statement: Executable, parameters: Mapping[str, Any]) -> Row[Any] | None:
        """The only row of a point read, or None; reads once more if the connection had died."""
        try:
            return self._one(statement, parameters)
        except DBAPIError as error:
            if not error.connection_invalidated:
                raise
            return self._one(statement, parameters)

    def _one(self, statement: Executable, parameters: Mapping[str, Any]) -> Row[Any] | None:
        with self.reader.connect() as connection:
            return connection.execute(statement, parameters).one_or_none()

    def dispose(self) -> None:
        """Close all connections."""
        self.points.close()
        self.writer.dispose()
        self.reader.dispose()


def open_database(url: str) -> Database:
    """Engines for ``url`` (``sqlite:///…`` or ``postgresql://…``); connects to nothing yet."""
    parsed = make_url(url)
    if parsed.get_backend_name() == "sqlite":
        return _open_sqlite(parsed)
    if parsed.drivername == "postgresql":
        parsed = parsed.set(drivername="postgresql+psycopg")
    options: dict[str, Any] = {
        **COMMON,
        "connect_args": {"connect_timeout": CONNECT_TIMEOUT, "options": PG_OPTIONS},
    }
    writer: Any = create_engine(parsed, pool_pre_ping=True, **options)
    writer.dialect.do_ping = _silent
    # No pre-ping here: `one` reads again.
    reader = create_engine(parsed, isolation_level="AUTOCOMMIT", **options)
    for engine in (writer, reader):
        event.listen(engine, "handle_error", _notice_hang_up)
    return Database(writer, reader)


def _silent(connection: Any) -> bool:
    """A ping without a round trip: a server that hung up has said so, or closed."""
    arrival = select.poll()
    arrival.register(connection.fileno(), select.POLLIN)
    return not arrival.poll(0)


def _notice_hang_up(context: Any) -> None:
    if hung_up(context.original_exception):
        context.is_disconnect = True


def _open_sqlite(url: URL) -> Database:
    if url.database and url.database != ":memory:":
        _create_private(Path(url.database))
    options: dict[str, Any] = {
        **COMMON,
        "connect_args": {"timeout": SQLITE_BUSY_TIMEOUT / 1000, "check_same_thread": False},
    }
    writer = create_engine(url, **options)
    reader = create_engine(url, isolation_level="AUTOCOMMIT", **options)
    for engine in (writer, reader):
        event.listen(engine, "connect", _prepare_sqlite)
    event.listen(writer, "checkin", _end_left_open)
    # Taking the write lock at once waits its turn; upgrading a read to a write later fails.
    event.listen(writer, "begin", lambda c: c.exec_driver_sql("BEGIN IMMEDIATE"))
    return Database(writer, reader)


def _prepare_sqlite(connection: Any, _record: Any) -> None:
    connection.isolation_level = None  # the driver's own BEGIN would be a deferred one
    for pragma in (
        f"busy_timeout={SQLITE_BUSY_TIMEOUT}",
        "journal_mode=WAL",
        "foreign_keys=ON",
        "cache_size=-512",  # KiB for each connection: the system's own cache is shared by all
    ):
        connection.execute(f"PRAGMA {pragma}")


def _end_left_open(connection: Any, _record: Any) -> None:
    """A COMMIT that failed (a full disk) leaves its transaction open, write lock and all.

    SQLAlchemy takes the connection back as it is, and every later request would fail on it.
    """
    if connection is not None and connection.in_transaction:
        connection.rollback()


def _create_private(path: Path) -> None:
    """Make the file (0600) and its folder (0700) before SQLite makes them for everybody."""
    if not path.parent.exists():
        path.parent.mkdir(parents=True, mode=0o700)
    with suppress(FileExistsError):
        os.close(os.open(path, os.O_CREAT | os.O_EXCL | os.O_RDWR, 0o600))
