"""Lines to a database: a connection, and the shortest way of asking through it."""

import select
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple, Protocol

Convert = Callable[[Any], Any]
Rows = list[tuple[Any, ...]]

# Seconds until a server that says nothing is given up; its own statement_timeout comes before.
PATIENCE = 3.3


class Prepared(NamedTuple):
    """A statement in the words of one dialect, and the values that have to be converted."""

    name: bytes
    sql: str
    binds: tuple[tuple[str, Convert | None], ...]
    results: tuple[tuple[int, Convert], ...]


Step = tuple[Prepared, Sequence[Any]]  # a statement and its parameters


class Line(Protocol):
    """One connection; used by one thread at a time."""

    connection: Any

    def alive(self) -> bool:
        """Whether the other end has not hung up, as far as one can see from here."""

    def ask(self, steps: Sequence[Step]) -> list[Rows]:
        """Run ``steps`` in one transaction; the rows of each. Raises the driver's errors."""


class SQLiteLine:
    """Through the one cursor it ever needs: making one costs as much as a small answer."""

    def __init__(self, connection: Any) -> None:
        self.connection = connection
        self._cursor = connection.cursor()

    def alive(self) -> bool:
        return True

    def ask(self, steps: Sequence[Step]) -> list[Rows]:
        if len(steps) == 1:
            return [self._rows(*steps[0])]
        with self.connection:  # commits, or rolls back
            self._cursor.execute("BEGIN IMMEDIATE")
            return [self._rows(*step) for step in steps]

    def _rows(self, prepared: Prepared, parameters: Sequence[Any]) -> Rows:
        rows: Rows = self._cursor.execute(prepared.sql, parameters).fetchall()
        return rows  # all of them: a statement goes on, and holds its locks, until then


class PostgresLine:
    """Through libpq (`psycopg.pq`), with statements prepared on the server.

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

    def alive(self) -> bool:
        return not self._arrival.poll(0)  # a server that hung up has said so, or closed

    def ask(self, steps: Sequence[Step]) -> list[Rows]:
        for prepared, parameters in steps:
            if prepared.name not in self._known:
                self._dump(parameters)
                self._pgconn.send_prepare(prepared.name, prepared.sql.encode(), self._types.types)
                self._answer()
                self._known.add(prepared.name)
        if len(steps) == 1:
            self._send(*steps[0])
            return [self._rows()]
        # What is sent before one "sync" is one transaction (PostgreSQL manual, 34.5.1.1).
        self._pgconn.enter_pipeline_mode()
        for step in steps:
            self._send(*step)
        self._pgconn.pipeline_sync()
        answers = [self._rows() for _ in steps]
        self._answer()
        self._pgconn.exit_pipeline_mode()
        return answers

    def _dump(self, parameters: Sequence[Any]) -> Sequence[Any]:
        return self._types.dump_sequence(parameters, [self._formats.AUTO] * len(parameters))

    def _send(self, prepared: Prepared, parameters: Sequence[Any]) -> None:
        given = self._dump(parameters)
        self._pgconn.send_query_prepared(prepared.name, given, self._types.formats)

    def _rows(self) -> Rows:
        result = self._answer()
        self._types.set_pgresult(result)
        return self._types.load_rows(0, result.ntuples, tuple)

    def _answer(self) -> Any:
        pgconn = self._pgconn
        while pgconn.is_busy():
            if not self._arrival.poll(PATIENCE * 1000):
                raise self._errors.OperationalError("the server does not answer")
            pgconn.consume_input()
        result = pgconn.get_result()
        if result.status == self._statuses.PIPELINE_SYNC:
            return result
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
