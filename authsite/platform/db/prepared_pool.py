"""The pool of connections for prepared queries."""

from collections import deque
from collections.abc import Callable, Sequence
from queue import Empty, SimpleQueue
from typing import Any, TypeAlias

from sqlalchemy import Engine, exc

from authsite.platform.runtime.spans import query_span

from .failures import RETRIES, is_conflict, note_failure, pause
from .libpq import PostgreSQLConnection
from .prepared_connections import BoundQuery, Rows, SQLiteConnection

PREPARED_POOL = 8  # connections
TIMEOUT = 2  # seconds that a request waits for a connection of this pool or of an engine
# One thread at a time uses it.
PreparedConnection: TypeAlias = SQLiteConnection | PostgreSQLConnection


class PreparedPool:
    """Runs prepared queries on its own connections, outside the transactions of requests.

    It opens a connection when all are in use, up to `PREPARED_POOL`, and closes one that fails. If
    none is free within `TIMEOUT`, it raises `sqlalchemy.exc.TimeoutError`. What the server rolled
    back because of a concurrent transaction runs again, at most `RETRIES` times.
    """

    def __init__(self, engine: Engine, on_timeout: Callable[[Any], None]) -> None:
        self.dialect = engine.dialect
        self._engine, self._on_timeout = engine, on_timeout
        self.forget()

    def forget(self) -> None:
        """Start without connections; those of before belong to the process that has forked.

        Nothing is sent on them: psycopg closes only connections of the present process.
        """
        # A queue of tokens: a semaphore of the standard library is ten times slower.
        self._slots: SimpleQueue[None] = SimpleQueue()
        for _slot in range(PREPARED_POOL):
            self._slots.put(None)
        self._idle: deque[PreparedConnection] = deque()

    @property
    def in_use(self) -> int:
        """How many connections execute a query now."""
        return PREPARED_POOL - self._slots.qsize()

    def read(self, query: BoundQuery) -> Rows:
        """The rows of ``query``, which runs a second time if the server had closed the connection.

        Raises SQLAlchemy's errors.
        """
        try:
            [rows] = self._run([query], self._pop)
        except exc.DBAPIError as error:
            if not error.connection_invalidated:
                raise
            [rows] = self._run([query], self._pop)
        return rows

    def write(self, queries: Sequence[BoundQuery]) -> list[Rows]:
        """Run ``queries`` as one transaction, committed on return; the rows of each.

        They do not run again after a lost connection: it is unknown whether the transaction was
        committed. Raises SQLAlchemy's errors.
        """
        return self._run(queries, self._pop_open)

    def close(self) -> None:
        """Close the idle connections."""
        while connection := self._pop():
            connection.driver_connection.close()

    def _run(
        self, queries: Sequence[BoundQuery], pop: Callable[[], PreparedConnection | None]
    ) -> list[Rows]:
        with query_span(self.dialect.name, (compiled.sql for compiled, _ in queries)):
            for attempt in range(1, RETRIES + 1):
                try:
                    return self._run_once(queries, pop)
                except exc.DBAPIError as error:
                    if not is_conflict(error):
                        raise
                pause(attempt)
            return self._run_once(queries, pop)

    def _run_once(
        self, queries: Sequence[BoundQuery], pop: Callable[[], PreparedConnection | None]
    ) -> list[Rows]:
        try:
            self._slots.get(timeout=TIMEOUT)
        except Empty:
            raise exc.TimeoutError(
                f"none of {PREPARED_POOL} connections was free for {TIMEOUT} s"
            ) from None
        try:
            return self._execute(pop() or self._connect(), queries)
        finally:
            self._slots.put(None)

    def _pop(self) -> PreparedConnection | None:
        # Not `if self._idle`: another thread may take the last connection in between.
        try:
            return self._idle.pop()
        except IndexError:
            return None

    def _pop_open(self) -> PreparedConnection | None:
        while (connection := self._pop()) and not connection.is_open():
            connection.driver_connection.close()
        return connection

    def _execute(self, connection: PreparedConnection, queries: Sequence[BoundQuery]) -> list[Rows]:
        try:
            rows = connection.execute(queries)
        except self.dialect.loaded_dbapi.Error as error:
            note_failure(error)
            driver_connection: Any = connection.driver_connection
            lost = server_closed(error) or self.dialect.is_disconnect(
                error, driver_connection, None
            )
            if lost:
                # The server has closed the other connections, too.
                self.close()
                self._engine.dispose()
            if not connection.answers:
                self._on_timeout(driver_connection)
            driver_connection.close()
            compiled, _parameters = queries[0]
            raise _wrapped(error, compiled.sql, lost=lost) from error
        self._idle.append(connection)
        return rows

    def _connect(self) -> PreparedConnection:
        # Not raw_connection(), which raises the driver's errors. A detached connection does not
        # count in the engine's pool.
        pooled = self._engine.connect().connection
        pooled.detach()
        driver_connection: Any = pooled.dbapi_connection
        if self.dialect.name == "sqlite":
            return SQLiteConnection(driver_connection)
        prepare = driver_connection.prepare_threshold is not None
        return PostgreSQLConnection(driver_connection, prepare=prepare)


def server_closed(error: BaseException) -> bool:
    """Whether the connection is of no more use (SQLSTATE classes 08 and 57P, and 25006).

    PostgreSQL ends it, which the driver does not know yet; or it has become a standby, which
    rejects writes.
    """
    return str(getattr(error, "sqlstate", None) or "").startswith(("08", "57P", "25006"))


def _wrapped(error: Exception, sql: str, *, lost: bool) -> exc.DBAPIError:
    """The SQLAlchemy error for a driver's error; the classes have the same names (PEP 249)."""
    kinds: list[Any] = [getattr(exc, kind.__name__, object) for kind in type(error).__mro__]
    wrapper: type[exc.DBAPIError] = next(
        (kind for kind in kinds if issubclass(kind, exc.DBAPIError)), exc.DBAPIError
    )
    return wrapper(sql, None, error, hide_parameters=True, connection_invalidated=lost)
