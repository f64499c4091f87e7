"""Prepared queries: SQL that is compiled once, and typed rows.

SQLAlchemy compiles the SQL and supplies the type converters. The driver executes the SQL directly,
which avoids what each execution costs in SQLAlchemy Core (docs/performance-notes.md). Every guarded
request runs a prepared query.
"""

from collections.abc import Callable, Mapping, Sequence
from functools import lru_cache
from hashlib import sha256
from typing import (
    Any,
    Generic,
    NamedTuple,
    Protocol,
    TypeAlias,
    TypeVar,
    cast,
    get_args,
    get_type_hints,
)

from sqlalchemy import Dialect, Insert, Select, Update
from sqlalchemy.engine.default import DefaultDialect

from .base import Base
from .engine import Database
from .prepared_connections import BoundQuery, CompiledQuery, Converters, Rows

Statement: TypeAlias = Select[*tuple[Any, ...]] | Insert | Update
Row = TypeVar("Row", bound=NamedTuple)


class ReadingPool(Protocol):
    """What runs a SELECT: the pool of a `Database`, or `standbys.Reading`."""

    @property
    def dialect(self) -> Dialect: ...
    def read(self, query: BoundQuery) -> Rows: ...


class Reader(Protocol):
    """What a SELECT is read from: a `Database`, or `standbys.Reading`."""

    @property
    def prepared(self) -> ReadingPool: ...


class NoRow(NamedTuple):
    """The row type of a statement that returns nothing."""


class PreparedQuery(Generic[Row]):
    """A statement, and the type of named tuple that each of its rows becomes.

    Build it once, at module level, with a `bindparam` for every value. The columns must have the
    names of the fields, in the same order. The type of the last field may be a named tuple, too.
    The fields of that tuple take the remaining columns; the last field is None if the first of
    these columns is NULL, as after an outer join. Named tuples may be nested further in this way.

    In a SELECT of 64 rows, converting a row takes as long as fetching it. For a query that reads
    the same rows repeatedly, ``cache_rows`` is the number of converted rows to keep in memory.

    Raises `TypeError` if columns and fields differ. The first run raises `ValueError` if the
    statement contains values, because statements that differ only in their values would have the
    same name on the server.
    """

    def __init__(self, statement: Statement, row: type[Row], *, cache_rows: int = 0) -> None:
        fields = _fields(row)
        columns = tuple(column.name for column in statement.exported_columns)
        if columns != fields:
            raise TypeError(f"{row.__name__} has the fields {fields}, the columns are {columns}")
        self._statement, self._reads = statement, isinstance(statement, Select)
        self._new_row = _maker(row)
        self._compiled: dict[str, CompiledQuery] = {}  # by the dialect's name
        self._make = lru_cache(cache_rows)(self._convert) if cache_rows else self._convert

    def one(self, database: Database, **values: object) -> Row | None:
        """Run the query with ``values`` for its parameters. Returns the first row, or None.

        If the server had closed the connection, a SELECT runs a second time; a statement that
        writes does not. Its changes are committed on return. Raises SQLAlchemy's errors.
        """
        query, pool = self.bind(database, values), database.prepared
        rows = pool.read(query) if self._reads else pool.write([query])[0]
        return self.first(query, rows)

    def read(self, reader: Reader, **values: object) -> Row | None:
        """`one` of a SELECT that a standby may answer, too; it returns None where it cannot."""
        query = self.bind(reader, values)
        return self.first(query, reader.prepared.read(query))

    def all(self, database: Database, **values: object) -> list[Row]:
        """Run a SELECT with ``values`` for its parameters. Returns all its rows.

        It runs a second time if the server had closed the connection. Raises SQLAlchemy's errors.
        """
        query = self.bind(database, values)
        return [self._make(query[0].results, row) for row in database.prepared.read(query)]

    def bind(self, reader: Reader, values: Mapping[str, object]) -> BoundQuery:
        """The query in the dialect of ``reader``, with its parameters."""
        dialect = reader.prepared.dialect
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
        return self._new_row(values)


def run_together(
    database: Database, *queries: tuple[PreparedQuery[Any], Mapping[str, object]]
) -> list[Any]:
    """Run ``queries`` as one transaction, committed on return.

    Returns a list with the first row of each query, or None. PostgreSQL gets the queries in one
    round trip. They do not run again after a lost connection. Raises SQLAlchemy's errors.
    """
    bound = [query.bind(database, values) for query, values in queries]
    results = zip(queries, bound, database.prepared.write(bound), strict=True)
    return [query.first(bound_query, rows) for (query, _), bound_query, rows in results]


def columns_of(model: type[Base], row: type[NamedTuple]) -> tuple[Any, ...]:
    """The columns of ``model`` for the fields of ``row``, without those of a nested tuple."""
    return tuple(getattr(model, name) for name in _own_fields(row))


def _fields(row: type[NamedTuple]) -> tuple[str, ...]:
    """The names of all columns for ``row``, in order, with those of nested named tuples."""
    last = _last_type(row)
    return (*_own_fields(row), *_fields(last)) if last else row._fields


def _maker(row: type[Row]) -> Callable[[list[Any]], Row]:
    """Return a function that makes a ``row`` from the values of all its columns."""
    make: Callable[..., Row] = row
    last, own = _last_type(row), len(_own_fields(row))
    if last is None:
        return lambda values: make(*values)
    make_last = _maker(last)

    def make_nested(values: list[Any]) -> Row:
        rest = values[own:]
        return make(*values[:own], None if rest[0] is None else make_last(rest))

    return make_nested


def _own_fields(row: type[NamedTuple]) -> tuple[str, ...]:
    return row._fields[:-1] if _last_type(row) else row._fields


def _last_type(row: type[NamedTuple]) -> type[NamedTuple] | None:
    """The named tuple that is the type of the last field (also with ``| None``), or None."""
    *_, last = (None, *get_type_hints(row).values())
    return next((kind for kind in (last, *get_args(last)) if hasattr(kind, "_fields")), None)


def _compile(statement: Statement, dialect: Dialect) -> CompiledQuery:
    """Compile ``statement`` for ``dialect``; the name of the result is a hash of the SQL."""
    if dialect.name == "postgresql":
        dialect_class = cast(type[DefaultDialect], type(dialect))
        dialect = dialect_class(paramstyle="numeric_dollar")  # PREPARE requires $1, $2, …
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
