"""Engines: one for transactions, and one in AUTOCOMMIT.

One engine would have to switch its isolation level at each checkout, in every guarded request. In
AUTOCOMMIT no lock is held after a statement, so none is held while a password is hashed.
"""

import os
import select
import socket
import sqlite3
import threading
import time
import traceback
from collections.abc import Callable, Mapping
from contextlib import suppress
from functools import partial
from pathlib import Path
from time import monotonic
from typing import TYPE_CHECKING, Any

import structlog
from sqlalchemy import Connection, Dialect, Engine, create_engine, event, exc
from sqlalchemy.engine import URL, ExceptionContext, make_url
from sqlalchemy.exc import InvalidatePoolError
from sqlalchemy.pool import ConnectionPoolEntry, PoolProxiedConnection

from authsite.platform.runtime.processes import after_fork

from . import libpq
from .failures import note_failure
from .prepared_connections import RESULT_TIMEOUT
from .prepared_pool import TIMEOUT, PreparedPool, server_closed
from .sqlite_files import UnusableFile

if TYPE_CHECKING:
    import psycopg


# The order in which several hosts of PostgreSQL are tried.


Host = tuple[str, str]
"""A host, and its port."""


class Hosts:
    """The host that answered last is tried first, and one that does not answer any more, last.

    libpq tries the hosts in the order of the URL, and waits for each one that does not answer.
    """

    def __init__(self) -> None:
        self._used: Host | None = None
        self._unresponsive: Host | None = None

    def ordered(self, options: dict[str, Any]) -> dict[str, Any]:
        """The ``options`` of a connection, with the hosts in the order to try them in."""
        hosts = str(options.get("host", "")).split(",")
        if len(hosts) == 1 or "hostaddr" in options:  # the addresses are in the order of the hosts
            return options
        ports = str(options.get("port", "")).split(",")
        pairs = list(zip(hosts, ports if len(ports) > 1 else ports * len(hosts), strict=True))
        pairs.sort(key=lambda pair: (pair == self._unresponsive, pair != self._used))
        return options | {
            "host": ",".join(host for host, _ in pairs),
            "port": ",".join(port for _, port in pairs),
        }

    def note(self, driver_connection: Any) -> bool:
        """Remember the host of a new connection. Returns whether former ones are to another."""
        former, self._used = self._used, _host_of(driver_connection)
        if self._unresponsive == self._used:
            self._unresponsive = None
        return former not in (None, self._used)

    def is_former(self, driver_connection: Any) -> bool:
        """Whether newer connections are to another host than this one."""
        return self._used not in (None, _host_of(driver_connection))

    def note_unresponsive(self) -> None:
        """Remember that the host of the last connection does not answer any more."""
        self._used, self._unresponsive = None, self._used or self._unresponsive


def _host_of(driver_connection: Any) -> Host:
    info = driver_connection.info
    return info.host, str(info.port)


# A circuit breaker: while the database does not answer, requests are refused at once.
#
# Otherwise each of them would occupy a thread until its own timeout, and the others would wait
# for a thread. An answer that is an error (no connection left, a slow statement) does not open
# the breaker: that request does not wait long.


log = structlog.get_logger("authsite.db")

Connect = Callable[[], Any]
SLOW = 1.0  # seconds; an attempt to connect that fails after them got no answer
PROBE_SECONDS = 0.25  # between two probes
# Seconds in which requests wait for the first probe: a single connection may be broken.
FIRST_PROBE = 0.5


class DatabaseAway(exc.TimeoutError):
    """The database does not answer, and so was not asked."""


class Breaker:
    """The breaker of one database in one process.

    ``on_open`` closes the idle connections, so that nothing uses them any more.

    Closed, it costs nothing for a connection that a pool has. Open, it refuses new connections,
    and the pools are empty. A thread then connects every `PROBE_SECONDS`, and closes the breaker
    when it succeeds.
    """

    def __init__(self, on_open: Callable[[], None]) -> None:
        self._on_open = on_open
        self._closed = threading.Event()
        self._closed.set()
        self._lock = threading.Lock()
        self._opened_at = 0.0
        self._connect: Connect | None = None

    def connect(self, connect: Connect) -> Any:
        """``connect()``; raises `DatabaseAway` while the breaker is open."""
        self._connect = connect
        if not self._closed.is_set():
            rest = self._opened_at + FIRST_PROBE - monotonic()
            if not self._closed.wait(max(0.0, rest)):
                raise DatabaseAway("the database does not answer")
        began = monotonic()
        try:
            return connect()
        except Exception:
            if monotonic() - began >= SLOW:
                self.open()
            raise

    def open(self) -> None:
        """Refuse connections until the database answers."""
        with self._lock:
            if self._connect is None or not self._closed.is_set():
                return
            self._opened_at = monotonic()
            self._closed.clear()
        log.error("database_away")
        try:
            self._on_open()
            threading.Thread(
                target=self._probe, args=(self._connect,), name="authsite-probe", daemon=True
            ).start()
        except BaseException:  # without a probe nothing would close the breaker
            self._closed.set()
            raise

    def close(self) -> None:
        """End the probes; the next request asks the database itself."""
        self._closed.set()

    def _probe(self, connect: Connect) -> None:
        while not self._closed.is_set():
            if _succeeds(connect):
                self._closed.set()
                log.info("database_returned", seconds=round(monotonic() - self._opened_at, 1))
            else:
                self._closed.wait(PROBE_SECONDS)


def _succeeds(connect: Connect) -> bool:
    try:
        connect().close()
    except Exception:  # the thread must survive any error
        return False
    return True


# A time limit for statements on psycopg's cursors, which wait for a server without any limit.
#
# A server that hangs does not apply its ``statement_timeout``, and its connections stay open. So
# a thread shuts down the socket of a statement that takes too long. The driver then reports a
# lost connection.


CHECK_SECONDS = 0.2  # between two checks of the deadlines


class Deadlines:
    """Ends connections on which a statement, COMMIT or ROLLBACK exceeds `RESULT_TIMEOUT`.

    ``on_timeout`` is called with the driver's connection before its socket is shut down. After a
    statement that sets ``statement_timeout``, as in a migration, a connection has no deadline until
    it returns to the pool.
    """

    def __init__(self, on_timeout: Callable[[Any], None]) -> None:
        self._on_timeout = on_timeout
        # By the id of the driver's connection: process, deadline and that connection.
        self._running: dict[int, tuple[int, float, Any]] = {}
        self._wake = threading.Event()
        self._process = 0

    def listen(self, engine: Engine) -> None:
        """Watch the connections of ``engine``."""
        event.listen(engine, "before_cursor_execute", self._before)
        event.listen(engine, "after_cursor_execute", self._after)
        event.listen(engine, "commit", self._begin)
        event.listen(engine, "rollback", self._begin)
        event.listen(engine, "checkin", self._checkin)

    def _before(
        self, connection: Connection, _cursor: object, statement: str, *_more: object
    ) -> None:
        if "statement_timeout" in statement:
            connection.info["without_deadline"] = True
        self._begin(connection)

    def _begin(self, connection: Connection) -> None:
        if connection.invalidated or "without_deadline" in connection.info:
            return
        driver_connection = connection.connection.dbapi_connection
        process, deadline = os.getpid(), monotonic() + RESULT_TIMEOUT
        self._running[id(driver_connection)] = process, deadline, driver_connection
        if self._process != process:
            self._process = process
            threading.Thread(target=self._watch, name="authsite-deadlines", daemon=True).start()
        self._wake.set()

    def _after(self, connection: Connection, *_more: object) -> None:
        self._running.pop(id(connection.connection.dbapi_connection), None)

    def _checkin(self, driver_connection: object, record: ConnectionPoolEntry) -> None:
        record.info.pop("without_deadline", None)
        self._running.pop(id(driver_connection), None)

    def _watch(self) -> None:
        while True:
            self._wake.wait()
            self._wake.clear()
            while self._running:
                time.sleep(CHECK_SECONDS)
                now = monotonic()
                for key, running in list(self._running.items()):
                    process, deadline, driver_connection = running
                    if self._running.get(key) is not running:
                        continue  # this statement has ended in the meantime
                    if process != os.getpid():  # inherited when this process was forked
                        self._running.pop(key, None)
                    elif now > deadline:
                        self._running.pop(key, None)
                        self._end(driver_connection)

    def _end(self, driver_connection: Any) -> None:
        try:
            if _is_waiting(driver_connection):
                try:
                    self._on_timeout(driver_connection)
                finally:
                    _shut_down(driver_connection)
        except Exception as error:  # the thread must go on for the other connections
            log.error("deadline_failed", error=type(error).__name__)


def _is_waiting(driver_connection: Any) -> bool:
    """Whether the driver waits for the result of a statement.

    It does not after a statement that failed, which `Deadlines._after` does not see, and on a
    closed connection.
    """
    return bool(driver_connection.info.transaction_status.name == "ACTIVE")


def _shut_down(driver_connection: Any) -> None:
    with (
        suppress(Exception),  # another thread may have closed the connection in the meantime
        socket.socket(fileno=os.dup(driver_connection.fileno())) as duplicate,
    ):
        duplicate.shutdown(socket.SHUT_RDWR)


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
