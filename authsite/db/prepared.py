"""Prepared queries: SQL that is compiled once, and typed rows.

SQLAlchemy compiles the SQL and supplies the converters of types; the driver executes it, which
avoids Core's cost per execution (docs/performance-notes.md). Every guarded request runs one.
"""

from collections.abc import Callable, Mapping, Sequence
from functools import lru_cache
from hashlib import sha256
from typing import Any, Generic, NamedTuple, TypeAlias, TypeVar, cast, get_args, get_type_hints

from sqlalchemy import Dialect, Insert, Select, Update
from sqlalchemy.engine.default import DefaultDialect

from .base import Base
from .engine import Database
from .prepared_connections import BoundQuery, CompiledQuery, Converters, Rows

Statement: TypeAlias = Select[*tuple[Any, ...]] | Insert | Update
Row = TypeVar("Row", bound=NamedTuple)


class NoRow(NamedTuple):
    """The row type of a statement that returns nothing."""


class PreparedQuery(Generic[Row]):
    """A statement on one row, committed by itself, and the named tuple that its row becomes.

    Build it once, at module level, with a `bindparam` for every value. The columns have the names
    of the fields. The last field may be a named tuple, too, and so may the last one of that: it
    takes the last columns, and is None if the first of them is NULL (as after an outer join).

    Converting a row costs as much as a SELECT of 64 rows takes for each of them. A query that reads
    the same rows again and again can have the last ``cache_rows`` rows converted only once.

    Raises `TypeError` if columns and fields differ. The first run raises `ValueError` for a
    statement that contains values: statements that differ only in values would share one name on
    the server.
    """

    def __init__(self, statement: Statement, row: type[Row], *, cache_rows: int = 0) -> None:
        fields = _fields(row)
        columns = tuple(column.name for column in statement.exported_columns)
        if columns != fields:
            raise TypeError(f"{row.__name__} has the fields {fields}, the columns are {columns}")
        self._statement, self._reads = statement, isinstance(statement, Select)
        self._row = _maker(row)
        self._compiled: dict[str, CompiledQuery] = {}  # by the dialect's name
        self._make = lru_cache(cache_rows)(self._convert) if cache_rows else self._convert

    def one(self, database: Database, **values: object) -> Row | None:
        """Run the query with ``values`` for its parameters. Returns the row, or None.

        A SELECT runs a second time if the server had closed the connection. A statement that writes
        runs once and is committed on return. Raises SQLAlchemy's errors.
        """
        query, pool = self.bind(database, values), database.prepared
        rows = pool.read(query) if self._reads else pool.write([query])[0]
        return self.first(query, rows)

    def all(self, database: Database, **values: object) -> list[Row]:
        """Run a SELECT with ``values`` for its parameters. Returns all its rows.

        It runs a second time if the server had closed the connection. Raises SQLAlchemy's errors.
        """
        query = self.bind(database, values)
        return [self._make(query[0].results, row) for row in database.prepared.read(query)]

    def bind(self, database: Database, values: Mapping[str, object]) -> BoundQuery:
        """The query in the dialect of ``database``, with its parameters."""
        dialect = database.prepared.dialect
        compiled = self._compiled.get(dialect.name)
        if compiled is None:
            compiled = self._compiled[dialect.name] = _compile(self._statement, dialect)
        return compiled, [
            convert(values[name]) if convert else values[name] for name, convert in compiled.binds
        ]

    def first(self, query: BoundQuery, rows: Rows) -> Row | None:
        """The first of the ``rows`` that ``query`` returned, or None."""
        return self._make(query[0].results, rows[0]) if rows else None

    def _convert(self, converters: Converters, row: Sequence[Any]) -> Row:
        values = list(row)
        for position, convert in converters:
            values[position] = convert(values[position])
        return self._row(values)


def run_together(
    database: Database, *queries: tuple[PreparedQuery[Any], Mapping[str, object]]
) -> list[Any]:
    """Run ``queries`` as one transaction, committed on return. Returns the row of each, or None.

    PostgreSQL gets them in one round trip. Never runs them twice. Raises SQLAlchemy's errors.
    """
    bound = [query.bind(database, values) for query, values in queries]
    results = zip(queries, bound, database.prepared.write(bound), strict=True)
    return [query.first(values, rows) for (query, _), values, rows in results]


def columns_of(model: type[Base], row: type[NamedTuple]) -> tuple[Any, ...]:
    """The columns of ``model`` for the fields of ``row``, without a named tuple at its end."""
    return tuple(getattr(model, name) for name in _own_fields(row))


def _fields(row: type[NamedTuple]) -> tuple[str, ...]:
    """The names of all columns, in their order."""
    last = _last_type(row)
    return (*_own_fields(row), *_fields(last)) if last else row._fields


def _maker(row: type[Row]) -> Callable[[list[Any]], Row]:
    """A function that makes a ``row`` of the values of all its columns."""
    make: Callable[..., Row] = row
    last, own = _last_type(row), len(_own_fields(row))
    if last is None:
        return lambda values: make(*values)
    make_last = _maker(last)

    def make_both(values: list[Any]) -> Row:
        rest = values[own:]
        return make(*values[:own], None if rest[0] is None else make_last(rest))

    return make_both


def _own_fields(row: type[NamedTuple]) -> tuple[str, ...]:
    return row._fields[:-1] if _last_type(row) else row._fields


def _last_type(row: type[NamedTuple]) -> type[NamedTuple] | None:
    """The type of the last field if that is a named tuple (or ``… | None``); else None."""
    *_, last = (None, *get_type_hints(row).values())
    return next((kind for kind in (last, *get_args(last)) if hasattr(kind, "_fields")), None)


def _compile(statement: Statement, dialect: Dialect) -> CompiledQuery:
    """``statement`` in the SQL of ``dialect``; its name is a hash of the SQL."""
    if dialect.name == "postgresql":
        with_numbers = cast(type[DefaultDialect], type(dialect))
        dialect = with_numbers(paramstyle="numeric_dollar")  # the parameters of PREPARE: $1
    compiled = statement.compile(dialect=dialect)
    parameters = compiled.positiontup or []
    values = [name for name in parameters if not compiled.binds[name].required]
    if values:
        raise ValueError(
            f"the statement contains values ({', '.join(values)}): build it once, at module level,"
            " and give every value as a bindparam"
        )
    binds = [
        (name, compiled.binds[name].type.dialect_impl(dialect).bind_processor(dialect))
        for name in parameters
    ]
    results = [
        column.type.dialect_impl(dialect).result_processor(dialect, None)
        for column in statement.exported_columns
    ]
    sql = str(compiled)
    return CompiledQuery(
        name=b"authsite_" + sha256(sql.encode()).hexdigest()[:32].encode(),
        sql=sql,
        binds=tuple(binds),
        results=tuple((position, convert) for position, convert in enumerate(results) if convert),
    )
