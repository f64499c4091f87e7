"""Engines: one for transactions, and one in AUTOCOMMIT.

One engine would have to switch its isolation level at each checkout, in every guarded request. In
AUTOCOMMIT no lock is held after a statement, so none is held while a password is hashed.
"""

import os
import select
import sqlite3
import traceback
from collections.abc import Mapping
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from sqlalchemy import Connection, Dialect, Engine, create_engine, event
from sqlalchemy.engine import URL, ExceptionContext, make_url
from sqlalchemy.exc import InvalidatePoolError
from sqlalchemy.pool import ConnectionPoolEntry, PoolProxiedConnection

from authsite.platform.runtime.forks import after_fork

from . import libpq
from .breaker import Breaker
from .deadlines import Deadlines
from .hosts import Hosts
from .prepared_pool import TIMEOUT, PreparedPool, server_closed
from .sqlite_files import UnusableFile
from .write_failures import note_failure

if TYPE_CHECKING:
    import psycopg

# A process has two engines, and the pool of the prepared queries (`PREPARED_POOL`): at most 24
# connections (docs/scaling.md).
ENGINE_POOL = 4  # connections that an engine keeps open
ENGINE_OVERFLOW = 4  # more of them, which are closed after use
# Milliseconds. The caller of a statement that takes longer gets a 503 (D03). The driver gives
# moments in the time zone of the connection, and we need them in UTC (`base.UtcDateTime`).
PG_OPTIONS = (
    "-c statement_timeout=3000 -c lock_timeout=2000 -c idle_in_transaction_session_timeout=10000"
    " -c timezone=UTC"
)
CONNECT_TIMEOUT = 3  # seconds
CONNECT_TIMEOUT_EACH = 2  # with several hosts, which are tried one after the other
SQLITE_BUSY_TIMEOUT = 5000  # milliseconds
SQLITE_JOURNAL_LIMIT = 16 * 2**20  # bytes that the journal keeps after it was written back

COMMON: Mapping[str, Any] = {
    "pool_size": ENGINE_POOL,
    "max_overflow": ENGINE_OVERFLOW,
    "pool_timeout": TIMEOUT,
    "hide_parameters": True,  # errors are logged, and parameters are personal data
}


class Database:
    """One database.

    ``transactional``: for sessions and for whatever is committed together. ``autocommit``: each
    statement is committed by itself, also those that write (rate limits, last used, cleanup).
    ``prepared``: the connections of `PreparedQuery`. ``breaker`` opens when PostgreSQL does not
    answer. ``hosts``: the order of several hosts.
    """

    def __init__(self, transactional: Engine, autocommit: Engine) -> None:
        self.transactional, self.autocommit = transactional, autocommit
        self.hosts, self.breaker = Hosts(), Breaker(self._leave_host)
        self.prepared = PreparedPool(autocommit, self.note_timeout)
        after_fork(self, Database.forget_connections)

    def dispose(self) -> None:
        """Close all connections."""
        self.breaker.close()
        self.close_idle()

    def note_timeout(self, driver_connection: Any) -> None:
        """Open the breaker, since the server does not answer on this connection.

        Not for a connection that is older than a failover: the host that is used now answers.
        """
        if not self.hosts.is_former(driver_connection):
            self.breaker.open()

    def _leave_host(self) -> None:
        self.hosts.note_unresponsive()
        self.close_idle()

    def forget_connections(self) -> None:
        """Leave the connections to the process that this one was forked from, without closing.

        The thread that would close the breaker is in that process, too.
        """
        self.breaker.close()
        self.prepared.forget()
        self.transactional.dispose(close=False)
        self.autocommit.dispose(close=False)

    def close_idle(self) -> None:
        """Close the connections that nothing uses now."""
        self.prepared.close()
        self.transactional.dispose()
        self.autocommit.dispose()


def open_database(url: str) -> Database:
    """The database at ``url`` (``sqlite:///…`` or ``postgresql://…``); does not connect yet."""
    parsed = make_url(url)
    if parsed.get_backend_name() == "sqlite":
        return _open_sqlite(parsed)
    if parsed.drivername == "postgresql":
        parsed = parsed.set(drivername="postgresql+psycopg")
    options: dict[str, Any] = {**COMMON, "connect_args": connect_options(parsed)}
    transactional = create_engine(parsed, **options)
    event.listen(transactional, "checkout", _check_open)
    # Not here: rate limits and prepared queries run a statement again when a connection was lost.
    autocommit = create_engine(parsed, isolation_level="AUTOCOMMIT", **options)
    database = Database(transactional, autocommit)
    deadlines = Deadlines(database.note_timeout)
    for engine in (transactional, autocommit):
        event.listen(engine, "handle_error", _mark_disconnect)
        event.listen(engine, "handle_error", _note_error)
        event.listen(engine, "do_connect", partial(_connect, database))
        deadlines.listen(engine)
    return database


def connect_options(url: URL) -> dict[str, Any]:
    """The timeouts of a connection to PostgreSQL, and the options that ``url`` itself gives."""
    # The last one of equal options is valid: the URL may give a search_path, or other timeouts.
    from_url = " ".join(url.normalized_query.get("options", ()))
    several = len(url.normalized_query.get("host", ())) > 1
    return {
        "connect_timeout": CONNECT_TIMEOUT_EACH if several else CONNECT_TIMEOUT,
        "options": f"{PG_OPTIONS} {from_url}".rstrip(),
    }


def open_connection(dialect: Dialect, arguments: Any, options: dict[str, Any]) -> Any:
    """A new connection of the driver to PostgreSQL. After an error no socket stays open.

    The error refers to psycopg's frames, which refer to the error, so that the socket of an attempt
    without an answer would stay open until a garbage collection. A PostgreSQL that goes on, and has
    to end, would wait for it (`authentication_timeout`, a minute).
    """
    try:
        return dialect.connect(*arguments, **options)
    except Exception as error:
        traceback.clear_frames(error.__traceback__)
        raise


def _connect(database: Database, dialect: Dialect, _record: object, *given: Any) -> Any:
    """Open a connection through the breaker; behind a pooler nothing is prepared on it."""
    arguments, options = given

    def connect() -> Any:
        connection = open_connection(dialect, arguments, database.hosts.ordered(options))
        try:
            if database.hosts.note(connection):
                database.close_idle()
            # PostgreSQL itself answers here: a pooler accepts connections also without it.
            if libpq.behind_pooler(connection):
                connection.prepare_threshold = None
        except BaseException:
            connection.close()
            raise
        return connection

    return database.breaker.connect(connect)


def behind_pooler(connection: Connection) -> bool:
    """Whether a pooler such as PgBouncer is between ``connection`` and PostgreSQL.

    In its transaction mode a session-level lock or setting does not last for the next transaction.
    """
    driver_connection: Any = connection.connection.dbapi_connection
    postgresql = connection.dialect.name == "postgresql"
    return postgresql and driver_connection.prepare_threshold is None


def has_time_limit(engine: Engine) -> bool:
    """Whether PostgreSQL ends slow statements; a pooler may not pass on our timeouts."""
    if engine.dialect.name != "postgresql":
        return True
    with engine.connect() as connection:
        return connection.exec_driver_sql("SHOW statement_timeout").scalar() != "0"


def without_time_limit(connection: Connection) -> None:
    """Let this transaction take longer than those of requests may, also between statements."""
    if connection.dialect.name == "postgresql":
        for limit in ("statement_timeout", "idle_in_transaction_session_timeout"):
            connection.exec_driver_sql(f"SET LOCAL {limit} = 0")


def _check_open(
    connection: "psycopg.Connection[object]",
    _record: ConnectionPoolEntry,
    _proxy: PoolProxiedConnection,
) -> None:
    """Make the pool connect again if the server has closed ``connection``.

    A ping without a round trip. The socket of an idle connection becomes readable only when the
    server closes it or sends an error.
    """
    if not connection.closed:
        readable = select.poll()
        readable.register(connection.fileno(), select.POLLIN)
        if not readable.poll(0):
            return
    raise InvalidatePoolError()


def _note_error(context: ExceptionContext) -> None:
    note_failure(context.original_exception)


def _mark_disconnect(context: ExceptionContext) -> None:
    if server_closed(context.original_exception):
        context.is_disconnect = True


def _open_sqlite(url: URL) -> Database:
    if url.database and url.database != ":memory:":
        _create_private(Path(url.database))
    options: dict[str, Any] = {
        **COMMON,
        "connect_args": {"timeout": SQLITE_BUSY_TIMEOUT / 1000, "check_same_thread": False},
    }
    transactional = create_engine(url, **options)
    autocommit = create_engine(url, isolation_level="AUTOCOMMIT", **options)
    for engine in (transactional, autocommit):
        event.listen(engine, "connect", _configure_sqlite)
        event.listen(engine, "handle_error", _note_error)
    event.listen(transactional, "checkin", _roll_back_open)
    # A transaction that takes the write lock at its begin waits for it. One that reads first and
    # writes later fails if another has written in between.
    event.listen(transactional, "begin", lambda c: c.exec_driver_sql("BEGIN IMMEDIATE"))
    return Database(transactional, autocommit)


def _configure_sqlite(connection: sqlite3.Connection, _record: ConnectionPoolEntry) -> None:
    connection.isolation_level = None  # the driver's own BEGIN would be a deferred one
    for pragma in (
        f"busy_timeout={SQLITE_BUSY_TIMEOUT}",
        "journal_mode=WAL",
        "foreign_keys=ON",
        "secure_delete=ON",  # what is deleted is overwritten; it costs nothing measurable
        f"journal_size_limit={SQLITE_JOURNAL_LIMIT}",
        "cache_size=-512",  # KiB for each connection; all share the cache of the operating system
    ):
        connection.execute(f"PRAGMA {pragma}").close()


def _roll_back_open(connection: sqlite3.Connection | None, _record: ConnectionPoolEntry) -> None:
    """Roll back a transaction that is still open when the connection returns to the pool.

    A COMMIT that fails (full disk) leaves the transaction open, with its write lock, and SQLAlchemy
    does not notice. Every later request on the connection would fail.
    """
    if connection is not None and connection.in_transaction:
        connection.rollback()


def _create_private(path: Path) -> None:
    """Make the file (0600) and its folder (0700) before SQLite makes the file readable for all.

    Raises `UnusableFile`.
    """
    try:
        if not path.parent.exists():
            path.parent.mkdir(parents=True, mode=0o700)
        with suppress(FileExistsError):
            os.close(os.open(path, os.O_CREAT | os.O_EXCL | os.O_RDWR, 0o600))
    except OSError as error:
        raise UnusableFile(
            f"the database {path} cannot be made ({error.strerror}): name in database-url a file"
            " in a folder that this user may write to"
        ) from None
