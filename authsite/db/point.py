"""Point reads: one row by its key, as close to the driver as SQLAlchemy's types allow.

A guarded request makes exactly one of these. SQLAlchemy Core writes the statement once and says how
values are converted; executing it anew through Core would cost more than the database does.
"""

from collections import deque
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

from sqlalchemy import Engine, Select
from sqlalchemy.engine.interfaces import DBAPIConnection, DBAPICursor
from sqlalchemy.exc import DBAPIError

Convert = Callable[[Any], Any]


class Prepared(NamedTuple):
    """A statement in the words of one dialect, and the values that have to be converted."""

    sql: str
    binds: tuple[tuple[str, Convert | None], ...]
    positional: bool
    results: tuple[tuple[int, Convert], ...]


class Points:
    """Runs point reads on connections of its own, in AUTOCOMMIT.

    There are as many connections as reads were ever under way at once. One that fails is closed;
    if the database had merely hung up, the read is made once more on a fresh one.
    """

    def __init__(self, engine: Engine) -> None:
        self._engine = engine
        # Each with the one cursor it ever needs: making a cursor costs as much as a small answer.
        self._idle: deque[tuple[DBAPIConnection, DBAPICursor]] = deque()
        self._prepared: dict[Select[Any], Prepared] = {}

    def read(self, statement: Select[Any], values: Mapping[str, Any]) -> tuple[Any, ...] | None:
        """The only row of ``statement``, or None. Raises SQLAlchemy's errors.

        ``values``: all that the statement asks for; it carries none of its own.
        """
        prepared = self._prepared.get(statement)
        if prepared is None:
            prepared = self._prepared[statement] = prepare(statement, self._engine)
        given = [
            (name, convert(values[name]) if convert else values[name])
            for name, convert in prepared.binds
        ]
        parameters = [value for _, value in given] if prepared.positional else dict(given)
        try:
            rows = self._execute(prepared.sql, parameters)
        except DBAPIError as error:
            if not error.connection_invalidated:
                raise
            rows = self._execute(prepared.sql, parameters)
        if not rows:
            return None
        row = list(rows[0])
        for place, convert in prepared.results:
            row[place] = convert(row[place])
        return tuple(row)

    def close(self) -> None:
        """Close the idle connections."""
        while idle := self._take():
            idle[0].close()

    def _take(self) -> tuple[DBAPIConnection, DBAPICursor] | None:
        # Not "if there is one, take it": another thread may take it in between.
        try:
            return self._idle.pop()
        except IndexError:
            return None

    def _execute(self, sql: str, parameters: Any) -> Any:
        dialect = self._engine.dialect
        connection, cursor = self._take() or self._connect()
        try:
            dialect.do_execute(cursor, sql, parameters)
            rows = cursor.fetchall()  # to the end: SQLite goes on reading until then
        except dialect.loaded_dbapi.Error as error:
            lost = hung_up(error) or dialect.is_disconnect(error, connection, None)
            if lost:
                self.close()  # the others were hung up on, too,
                self._engine.dispose()  # and those that wait in the pool
            connection.close()
            raise DBAPIError.instance(
                sql, None, error, dialect.loaded_dbapi.Error,
                connection_invalidated=lost, dialect=dialect, hide_parameters=True,
            ) from error  # fmt: skip
        self._idle.append((connection, cursor))
        return rows

    def _connect(self) -> tuple[Any, Any]:
        # Not raw_connection(): that lets the driver's own errors through. Detached: the pool of
        # the engine stays for everyone else.
        pooled = self._engine.connect().connection
        pooled.detach()
        connection: Any = pooled.dbapi_connection
        return connection, connection.cursor()


def hung_up(error: BaseException) -> bool:
    """Whether PostgreSQL says that it ends the connection (SQLSTATE classes 08 and 57P).

    The driver notices only a moment later that the connection is closed.
    """
    return str(getattr(error, "sqlstate", None) or "").startswith(("08", "57P"))


def prepare(statement: Select[Any], engine: Engine) -> Prepared:
    """``statement`` as the driver of ``engine`` takes it."""
    compiled: Any = statement.compile(engine)
    dialect = engine.dialect
    positional = bool(compiled.positional)
    # Not `binds`: there a value without a name of its own stands under two.
    names = compiled.positiontup if positional else compiled.bind_names.values()
    binds = [
        (name, compiled.binds[name].type.dialect_impl(dialect).bind_processor(dialect))
        for name in names
    ]
    results = [
        column.type.dialect_impl(dialect).result_processor(dialect, None)
        for column in statement.selected_columns
    ]
    return Prepared(
        sql=str(compiled),
        binds=tuple(binds),
        positional=positional,
        results=tuple((place, convert) for place, convert in enumerate(results) if convert),
    )
