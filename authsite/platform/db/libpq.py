"""Prepared queries on PostgreSQL, through `psycopg.pq`, psycopg's documented binding of libpq.

psycopg's cursor releases the GIL about five times per query; with 16 threads each re-acquisition is
a context switch. This module releases it once, while it waits for the result: the guard's query
takes 20 to 25 % less time (docs/performance-notes.md). It also limits the wait for a server that
does not answer, which a cursor does not. No other module uses `psycopg.pq`.
"""

import select
from collections.abc import Sequence
from time import monotonic
from typing import TYPE_CHECKING, Any, cast

from .prepared_connections import RESULT_TIMEOUT, BoundQuery, CompiledQuery, Rows

if TYPE_CHECKING:
    import psycopg
    from psycopg.pq.abc import PGresult


class PostgreSQLConnection:
    """A connection to PostgreSQL that prepares each query once on the server, under its name.

    Without ``prepare`` the server gets the SQL with each query. ``timeout``: seconds for the
    results of one query. ``answers``: False after a query to which the server did not respond in
    time.
    """

    def __init__(
        self,
        driver_connection: "psycopg.Connection[Any]",
        *,
        prepare: bool,
        timeout: float = RESULT_TIMEOUT,
    ) -> None:
        from psycopg import adapt, errors, pq

        self.driver_connection = driver_connection
        self._pgconn = driver_connection.pgconn
        self._transformer = adapt.Transformer(driver_connection)
        self._format, self._status, self._errors = adapt.PyFormat.TEXT, pq.ExecStatus, errors
        self._sqlstate = pq.DiagnosticField.SQLSTATE
        self._prepare, self._timeout = prepare, timeout
        self._prepared: set[bytes] = set()
        self.answers = True
        self._readable = select.poll()
        self._readable.register(self._pgconn.socket, select.POLLIN)

    def is_open(self) -> bool:
        """Whether the connection is open as far as is known without asking the server."""
        return not self._readable.poll(0)  # a server that closes sends a message, or end of file

    def execute(self, queries: Sequence[BoundQuery]) -> list[Rows]:
        """As `SQLiteConnection.execute`."""
        for compiled, _parameters in queries:
            if self._prepare and compiled.name not in self._prepared:
                # Without parameter types, which the casts in the SQL state. psycopg's types depend
                # on the value: it sends 1 as a smallint, and a larger number would not fit.
                self._pgconn.send_prepare(compiled.name, compiled.sql.encode())
                self._result()
                self._prepared.add(compiled.name)
        if len(queries) == 1:
            self._send(queries[0])
            return [self._rows()]
        # All queries before a "sync" are one transaction (PostgreSQL manual, 34.5.1.1).
        self._pgconn.enter_pipeline_mode()
        for query in queries:
            self._send(query)
        self._pgconn.pipeline_sync()
        rows = [self._rows() for _ in queries]
        self._result()
        self._pgconn.exit_pipeline_mode()
        return rows

    def _send(self, query: BoundQuery) -> None:
        compiled, parameters = query
        values = self._transformer.dump_sequence(parameters, [self._format] * len(parameters))
        formats = self._transformer.formats
        if self._prepare:
            self._pgconn.send_query_prepared(compiled.name, values, formats)
        else:
            self._pgconn.send_query_params(compiled.sql.encode(), values, None, formats)

    def _rows(self) -> Rows:
        result = self._result()
        self._transformer.set_pgresult(result)
        return self._transformer.load_rows(0, result.ntuples, tuple)

    def _result(self) -> "PGresult":
        deadline = monotonic() + self._timeout
        result = cast("PGresult", self._next_result(deadline))  # every query has a result
        if result.status == self._status.PIPELINE_SYNC:
            return result
        while self._next_result(deadline):
            pass  # None ends the results of a query
        if result.status in (self._status.TUPLES_OK, self._status.COMMAND_OK):
            return result
        raise self._error(result)

    def _next_result(self, deadline: float) -> "PGresult | None":
        """The same as `get_result`, which has no timeout."""
        while self._pgconn.is_busy():
            if not self._readable.poll(max(0.0, deadline - monotonic()) * 1000):
                self.answers = False
                raise self._errors.OperationalError("the server does not answer in time")
            self._pgconn.consume_input()
        return self._pgconn.get_result()

    def _error(self, result: "PGresult") -> Exception:
        sqlstate = (result.error_field(self._sqlstate) or b"").decode()
        try:
            kind = self._errors.lookup(sqlstate)
        except KeyError:
            kind = self._errors.OperationalError
        return kind(result.error_message.decode(errors="replace"))


def behind_pooler(driver_connection: "psycopg.Connection[Any]") -> bool:
    """Whether a pooler such as PgBouncer is between us and PostgreSQL.

    It tells a client another process id than that of the server process, of which a client may get
    another one in each transaction. Statements that are prepared by name would be missing there.
    """
    query = CompiledQuery(b"", "SELECT pg_backend_pid()", (), ()), ()
    connection = PostgreSQLConnection(driver_connection, prepare=False)
    [[[process]]] = connection.execute([query])
    return int(process) != driver_connection.info.backend_pid
