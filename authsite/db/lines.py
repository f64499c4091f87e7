"""Lines to a database for point reads: a connection, and the shortest way of asking through it."""

import select
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple, Protocol

Convert = Callable[[Any], Any]

# Seconds until a server that says nothing is given up; its own statement_timeout comes before.
PATIENCE = 3.3


class Prepared(NamedTuple):
    """A statement in the words of one dialect, and the values that have to be converted."""

    name: bytes
    sql: str
    binds: tuple[tuple[str, Convert | None], ...]
    results: tuple[tuple[int, Convert], ...]


class Line(Protocol):
    """One connection; used by one thread at a time."""

    connection: Any

    def ask(self, prepared: Prepared, parameters: Sequence[Any]) -> list[tuple[Any, ...]]:
        """The rows of the answer. Raises the driver's errors."""


class SQLiteLine:
    """Through the one cursor it ever needs: making one costs as much as a small answer."""

    def __init__(self, connection: Any) -> None:
        self.connection = connection
        self._cursor = connection.cursor()

    def ask(self, prepared: Prepared, parameters: Sequence[Any]) -> list[tuple[Any, ...]]:
        self._cursor.execute(prepared.sql, parameters)
        rows: list[tuple[Any, ...]] = self._cursor.fetchall()  # to the end: it reads until then
        return rows


class PostgresLine:
    """Through libpq (`psycopg.pq`), with a statement prepared on the server.

    A cursor of psycopg lets go of the interpreter lock some five times for one answer, and where
    sixteen threads wait for that lock each time is a detour; this does so once, while it waits.
    """

    def __init__(self, connection: Any) -> None:
        from psycopg import adapt, errors, pq

        self.connection = connection
        self._pgconn = connection.pgconn
        self._types = adapt.Transformer(connection)
        self._formats, self._statuses, self._errors = adapt.PyFormat, pq.ExecStatus, errors
        self._sqlstate = pq.DiagnosticField.SQLSTATE
        self._known: set[bytes] = set()
        self._arrival = select.poll()
        self._arrival.register(self._pgconn.socket, select.POLLIN)

    def ask(self, prepared: Prepared, parameters: Sequence[Any]) -> list[tuple[Any, ...]]:
        types, pgconn = self._types, self._pgconn
        given = types.dump_sequence(parameters, [self._formats.AUTO] * len(parameters))
        if prepared.name not in self._known:
            pgconn.send_prepare(prepared.name, prepared.sql.encode(), types.types)
            self._answer()
            self._known.add(prepared.name)
        pgconn.send_query_prepared(prepared.name, given, types.formats)
        result = self._answer()
        types.set_pgresult(result)
        return types.load_rows(0, result.ntuples, tuple)

    def _answer(self) -> Any:
        pgconn = self._pgconn
        while pgconn.is_busy():
            if not self._arrival.poll(PATIENCE * 1000):
                raise self._errors.OperationalError("the server does not answer")
            pgconn.consume_input()
        result = pgconn.get_result()
        while pgconn.get_result():
            pass  # only the end of the answer
        if result.status in (self._statuses.TUPLES_OK, self._statuses.COMMAND_OK):
            return result
        raise self._refusal(result)

    def _refusal(self, result: Any) -> Exception:
        sqlstate = (result.error_field(self._sqlstate) or b"").decode()
        try:
            kind = self._errors.lookup(sqlstate)
        except KeyError:
            kind = self._errors.OperationalError
        return kind(result.error_message.decode(errors="replace"))
