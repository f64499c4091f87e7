"""What connections for prepared queries execute, and the connection to SQLite.

`libpq` has the connection to PostgreSQL.
"""

import sqlite3
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

# Seconds for the results of one query. A working server ends a query sooner (statement_timeout).
RESULT_TIMEOUT = 3.3

Converter = Callable[[Any], Any]
Rows = list[tuple[Any, ...]]
Converters = tuple[tuple[int, Converter], ...]  # position and converter of a column


class CompiledQuery(NamedTuple):
    """A statement in the SQL of one dialect, with the converters of its values.

    ``binds``: name and converter of each parameter. ``results``: of each column that needs one.
    """

    name: bytes
    sql: str
    binds: tuple[tuple[str, Converter | None], ...]
    results: Converters


BoundQuery = tuple[CompiledQuery, Sequence[object]]  # a query and its parameters


class SQLiteConnection:
    """A connection to SQLite with one cursor: creating a cursor costs as much as a small query."""

    answers = True  # see `libpq.PostgreSQLConnection`

    def __init__(self, driver_connection: sqlite3.Connection) -> None:
        self.driver_connection = driver_connection
        self._cursor = driver_connection.cursor()

    def is_open(self) -> bool:
        return True

    def execute(self, queries: Sequence[BoundQuery]) -> list[Rows]:
        """Run ``queries`` in one transaction. Returns the rows of each; raises driver errors."""
        if len(queries) == 1:
            return [self._rows(*queries[0])]
        with self.driver_connection:  # commits, or rolls back
            self._cursor.execute("BEGIN IMMEDIATE")
            return [self._rows(*query) for query in queries]

    def _rows(self, compiled: CompiledQuery, parameters: Sequence[object]) -> Rows:
        # All rows: SQLite holds the locks of a statement until its last row is read.
        rows: Rows = self._cursor.execute(compiled.sql, parameters).fetchall()
        return rows
