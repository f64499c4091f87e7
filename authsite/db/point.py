"""Points: statements on one row by its key, as close to the driver as SQLAlchemy's types allow.

A guarded request makes exactly one of these. SQLAlchemy Core writes the statement once and says how
values are converted; executing it anew through Core would cost more than the database does.
"""

from collections import deque
from collections.abc import Callable, Mapping, Sequence
from itertools import count
from threading import Semaphore
from typing import Any

from sqlalchemy import Dialect, Engine, Insert, Select, Update
from sqlalchemy.exc import DBAPIError, TimeoutError

from .lines import Line, PostgresLine, Prepared, SQLiteLine, Step

LINES = 8  # connections of one process
POOL_TIMEOUT = 2  # seconds

Read = Select[*tuple[Any, ...]]
Statement = Read | Insert | Update
Values = Mapping[str, Any]
Row = tuple[Any, ...]


class Points:
    """Runs statements on connections of its own, outside any transaction of a request.

    At most `LINES` connections, and no more than were ever in use at once. One that fails is
    closed; who finds none free for `POOL_TIMEOUT` is told so by `sqlalchemy.exc.TimeoutError`.
    """

    def __init__(self, engine: Engine) -> None:
        self._engine = engine
        self._places = Semaphore(LINES)
        self._idle: deque[Line] = deque()
        self._prepared: dict[Statement, Prepared] = {}
        self._numbers = count()

    def read(self, statement: Read, values: Values) -> Row | None:
        """The only row of ``statement``, or None. Raises SQLAlchemy's errors.

        ``values``: all that the statement asks for; it carries none of its own. If the database
        had merely hung up, the read is made once more on a fresh connection.
        """
        try:
            [row] = self._rows([(statement, values)], self._take)
        except DBAPIError as error:
            if not error.connection_invalidated:
                raise
            [row] = self._rows([(statement, values)], self._take)
        return row

    def write(self, *steps: tuple[Statement, Values]) -> list[Row | None]:
        """Run ``steps`` as one transaction, committed on return; the row that each one returns.

        Made once: whether it was done when a connection broke off, nobody knows, and the caller
        is told. Raises SQLAlchemy's errors.
        """
        return self._rows(steps, self._take_living)

    def close(self) -> None:
        """Close the idle connections."""
        while line := self._take():
            line.connection.close()

    def _rows(
        self, steps: Sequence[tuple[Statement, Values]], take: Callable[[], Line | None]
    ) -> list[Row | None]:
        given = [self._step(statement, values) for statement, values in steps]
        if not self._places.acquire(timeout=POOL_TIMEOUT):
            raise TimeoutError(f"none of {LINES} connections was free for {POOL_TIMEOUT} s")
        try:
            answers = self._ask(take() or self._connect(), given)
        finally:
            self._places.release()
        return [
            _converted(rows[0], prepared) if rows else None
            for rows, (prepared, _parameters) in zip(answers, given, strict=True)
        ]

    def _step(self, statement: Statement, values: Values) -> Step:
        prepared = self._prepared.get(statement)
        if prepared is None:
            name = b"authsite_%d" % next(self._numbers)
            prepared = self._prepared[statement] = prepare(name, statement, self._engine.dialect)
        return prepared, [
            convert(values[name]) if convert else values[name] for name, convert in prepared.binds
        ]

    def _take(self) -> Line | None:
        # Not "if there is one, take it": another thread may take it in between.
        try:
            return self._idle.pop()
        except IndexError:
            return None

    def _take_living(self) -> Line | None:
        while (line := self._take()) and not line.alive():
            line.connection.close()
        return line

    def _ask(self, line: Line, steps: Sequence[Step]) -> list[list[Row]]:
        dialect: Any = self._engine.dialect
        try:
            answers = line.ask(steps)
        except dialect.loaded_dbapi.Error as error:
            lost = hung_up(error) or dialect.is_disconnect(error, line.connection, None)
            if lost:
                self.close()  # the others were hung up on, too,
                self._engine.dispose()  # and those that wait in the pool
            line.connection.close()
            raise DBAPIError.instance(
                steps[0][0].sql, None, error, dialect.loaded_dbapi.Error,
                connection_invalidated=lost, dialect=dialect, hide_parameters=True,
            ) from error  # fmt: skip
        self._idle.append(line)
        return answers

    def _connect(self) -> Line:
        # Not raw_connection(): that lets the driver's own errors through. Detached: the pool of
        # the engine stays for everyone else.
        pooled = self._engine.connect().connection
        pooled.detach()
        kind = SQLiteLine if self._engine.dialect.name == "sqlite" else PostgresLine
        return kind(pooled.dbapi_connection)


def hung_up(error: BaseException) -> bool:
    """Whether PostgreSQL says that it ends the connection (SQLSTATE classes 08 and 57P).

    The driver notices only a moment later that the connection is closed.
    """
    return str(getattr(error, "sqlstate", None) or "").startswith(("08", "57P"))


def prepare(name: bytes, statement: Statement, dialect: Dialect) -> Prepared:
    """``statement``, to be known as ``name``, as a line of ``dialect`` takes it."""
    if dialect.name == "postgresql":
        as_the_server_counts: Any = type(dialect)
        dialect = as_the_server_counts(paramstyle="numeric_dollar")
    compiled: Any = statement.compile(dialect=dialect)
    binds = [
        (name, compiled.binds[name].type.dialect_impl(dialect).bind_processor(dialect))
        for name in compiled.positiontup
    ]
    results = [
        column.type.dialect_impl(dialect).result_processor(dialect, None)
        for column in statement.exported_columns
    ]
    return Prepared(
        name=name,
        sql=str(compiled),
        binds=tuple(binds),
        results=tuple((place, convert) for place, convert in enumerate(results) if convert),
    )


def _converted(row: Row, prepared: Prepared) -> Row:
    if not prepared.results:
        return row
    values = list(row)
    for place, convert in prepared.results:
        values[place] = convert(values[place])
    return tuple(values)
