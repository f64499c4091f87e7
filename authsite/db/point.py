"""Point reads: one row by its key, as close to the driver as SQLAlchemy's types allow.

A guarded request makes exactly one of these. SQLAlchemy Core writes the statement once and says how
values are converted; executing it anew through Core would cost more than the database does.
"""

from collections import deque
from collections.abc import Mapping
from itertools import count
from typing import Any

from sqlalchemy import Dialect, Engine, Select
from sqlalchemy.exc import DBAPIError

from .lines import Line, PostgresLine, Prepared, SQLiteLine


class Points:
    """Runs point reads on connections of its own, in AUTOCOMMIT.

    There are as many connections as reads were ever under way at once. One that fails is closed;
    if the database had merely hung up, the read is made once more on a fresh one.
    """

    def __init__(self, engine: Engine) -> None:
        self._engine = engine
        self._idle: deque[Line] = deque()
        self._prepared: dict[Select[Any], Prepared] = {}
        self._numbers = count()

    def read(self, statement: Select[Any], values: Mapping[str, Any]) -> tuple[Any, ...] | None:
        """The only row of ``statement``, or None. Raises SQLAlchemy's errors.

        ``values``: all that the statement asks for; it carries none of its own.
        """
        prepared = self._prepared.get(statement)
        if prepared is None:
            name = b"authsite_%d" % next(self._numbers)
            prepared = self._prepared[statement] = prepare(name, statement, self._engine.dialect)
        parameters = [
            convert(values[name]) if convert else values[name] for name, convert in prepared.binds
        ]
        try:
            rows = self._ask(prepared, parameters)
        except DBAPIError as error:
            if not error.connection_invalidated:
                raise
            rows = self._ask(prepared, parameters)
        if not rows:
            return None
        row = list(rows[0])
        for place, convert in prepared.results:
            row[place] = convert(row[place])
        return tuple(row)

    def close(self) -> None:
        """Close the idle connections."""
        while line := self._take():
            line.connection.close()

    def _take(self) -> Line | None:
        # Not "if there is one, take it": another thread may take it in between.
        try:
            return self._idle.pop()
        except IndexError:
            return None

    def _ask(self, prepared: Prepared, parameters: list[Any]) -> list[tuple[Any, ...]]:
        dialect: Any = self._engine.dialect
        line = self._take() or self._connect()
        try:
            rows = line.ask(prepared, parameters)
        except dialect.loaded_dbapi.Error as error:
            lost = hung_up(error) or dialect.is_disconnect(error, line.connection, None)
            if lost:
                self.close()  # the others were hung up on, too,
                self._engine.dispose()  # and those that wait in the pool
            line.connection.close()
            raise DBAPIError.instance(
                prepared.sql, None, error, dialect.loaded_dbapi.Error,
                connection_invalidated=lost, dialect=dialect, hide_parameters=True,
            ) from error  # fmt: skip
        self._idle.append(line)
        return rows

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


def prepare(name: bytes, statement: Select[Any], dialect: Dialect) -> Prepared:
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
        for column in statement.selected_columns
    ]
    return Prepared(
        name=name,
        sql=str(compiled),
        binds=tuple(binds),
        results=tuple((place, convert) for place, convert in enumerate(results) if convert),
    )
