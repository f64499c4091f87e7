"""Read the rows of a table: from a database, a dump of one, or a file of comma-separated values."""

import csv
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

from sqlalchemy import ColumnClause, Engine, column, create_engine, event, func, inspect, select
from sqlalchemy import table as named_table
from sqlalchemy.engine import make_url
from sqlalchemy.exc import ArgumentError, NoSuchModuleError, SQLAlchemyError

from .dumps import DumpSource, schema_and_name
from .rows import Lines, Row, Source, SourceUnusable

FETCHED = 1000  # rows that are in memory at once
_MAX_FIELD = 1 << 20  # characters of a field


def open_source(text: str, users_table: str) -> Source:
    """The source that ``text`` names: a URL, a dump, a CSV file of users, or a folder of CSV files.

    Raises `SourceUnusable` with what can be done about it.
    """
    if "://" in text:  # with a password perhaps: no message has any of it
        return DatabaseSource(text)
    path = Path(text)
    if path.is_dir():
        return CsvSource({each.stem: each for each in path.glob("*.csv")})
    if not path.is_file():
        raise SourceUnusable(
            f"{text}: there is no such file; give a file, a folder with CSV files, or a URL such "
            "as mysql+pymysql://user:password@host/database"
        )
    if path.suffix.lower() == ".csv":
        return CsvSource({users_table: path})
    return DumpSource(path)


class DatabaseSource(Source):
    """A database of another system, which is only read."""

    def __init__(self, url: str) -> None:
        self._engine = _engine(url)
        sqlite = self._engine.dialect.name == "sqlite"
        self.files = [Path(self._engine.url.database or "")] if sqlite else []
        with _reported():
            self._tables = inspect(self._engine)
            self._tables.get_table_names()

    def has(self, table: str) -> bool:
        schema, name = schema_and_name(table)
        with _reported():
            return self._tables.has_table(name, schema)

    def columns(self, table: str) -> Sequence[str]:
        schema, name = schema_and_name(table)
        with _reported():
            return [each["name"] for each in self._tables.get_columns(name, schema)]

    def size(self, table: str) -> int:
        schema, name = schema_and_name(table)
        with _reported(), self._engine.connect() as connection:
            counted = select(func.count()).select_from(named_table(name, schema=schema))
            return connection.scalar(counted) or 0

    def rows(self, table: str) -> Iterator[Row]:
        schema, name = schema_and_name(table)
        names = self.columns(table)
        with _reported():
            keys = self._tables.get_pk_constraint(name, schema)["constrained_columns"]
        columns: list[ColumnClause[object]] = [column(each) for each in names]
        # Without types: a value that is not a date must not end the import.
        query = select(*columns).select_from(named_table(name, *columns, schema=schema))
        query = query.order_by(*(column(key) for key in keys))
        with (
            _reported(),
            self._engine.connect().execution_options(yield_per=FETCHED) as connection,
        ):
            for number, row in enumerate(connection.execute(query), start=1):
                yield Row(number, dict(zip(names, row, strict=True)), number)

    def close(self) -> None:
        self._engine.dispose()


class CsvSource(Source):
    """Files of comma-separated values with a line of names; ``files``: table -> file."""

    def __init__(self, files: Mapping[str, Path]) -> None:
        self._files = files
        self.files = [*files.values()]
        self._asked: dict[str, set[str]] = defaultdict(set)
        csv.field_size_limit(_MAX_FIELD)

    def has(self, table: str) -> bool:
        return table in self._files

    def close(self) -> None:
        """Nothing is open between two tables."""

    def size(self, table: str) -> int:
        return self._files[table].stat().st_size

    def ignored(self, table: str) -> Sequence[str]:
        return [each for each in self.columns(table) if each and each not in self._asked[table]]

    def columns(self, table: str) -> Sequence[str]:
        with Lines(self._files[table], "utf-8-sig") as lines:
            return _header(self._files[table], lines)[0]

    def rows(self, table: str) -> Iterator[Row]:
        path = self._files[table]
        with Lines(path, "utf-8-sig") as lines:
            names, delimiter = _header(path, lines)
            reader = csv.reader(lines, delimiter=delimiter)
            while True:
                try:
                    fields = next(reader, None)
                except csv.Error as error:
                    raise SourceUnusable(
                        f"{path}, line {reader.line_num + 1}: {error}. Correct the line and start "
                        "again: rows that are imported already stay as they are"
                    ) from None
                if fields is None:
                    return
                if fields:
                    asked = self._asked[table]
                    yield _csv_row(reader.line_num + 1, names, fields, lines.read, asked)


def _header(path: Path, lines: Lines) -> tuple[list[str], str]:
    """The names of the columns of a CSV file, and its delimiter. Raises `SourceUnusable`."""
    line = next(iter(lines), "")
    delimiter = ";" if ";" in line and "," not in line else ","
    try:
        found = [name.strip() for name in next(csv.reader([line], delimiter=delimiter), [])]
    except csv.Error as error:
        raise SourceUnusable(
            f"{path}, line 1: {error}. Save the table as CSV in UTF-8 with line ends of Unix or "
            "Windows"
        ) from None
    if not any(found):
        raise SourceUnusable(f"{path}, line 1: it must have the names of the columns")
    if twice := sorted(name for name, count in Counter(found).items() if name and count > 1):
        raise SourceUnusable(f"{path}, line 1: columns are there twice: {', '.join(twice)}")
    return found, delimiter


class _Values(dict[str, object]):
    """The values of a row, which notes the columns that are asked for."""

    def __init__(self, values: Mapping[str, object], asked: set[str]) -> None:
        super().__init__(values)
        self._asked = asked

    def get(self, name: str, default: object = None) -> object:
        self._asked.add(name)
        return super().get(name, default)


def _csv_row(
    number: int, names: Sequence[str], fields: Sequence[str], done: int, asked: set[str]
) -> Row:
    if len(fields) != len(names):
        reason = f"has {len(fields)} fields, and the first line {len(names)}"
        return Row(number, {}, done, reason)
    given = zip(names, fields, strict=True)
    values = {n: None if field in ("", r"\N") else field for n, field in given}
    return Row(number, _Values(values, asked), done)


def _engine(url: str) -> Engine:
    try:
        parsed = make_url(url)
        if parsed.drivername == "postgresql":
            parsed = parsed.set(drivername="postgresql+psycopg")
        if parsed.get_backend_name() == "sqlite" and not Path(parsed.database or "").is_file():
            raise SourceUnusable(
                "there is no such file as in the URL: give sqlite:///path, or sqlite:////path from "
                "the root"
            )
        if "@" in (parsed.host or ""):  # the end of a password, which a driver would report
            raise ArgumentError
        engine = create_engine(parsed, hide_parameters=True)
    except (ArgumentError, NoSuchModuleError, ValueError, TypeError):
        raise SourceUnusable(
            "the URL is none of PostgreSQL, MySQL or SQLite: give postgresql://…, "
            "mysql+pymysql://… or sqlite:///path, with @ : / ? # % in user and password "
            "percent-encoded"
        ) from None
    except ModuleNotFoundError as error:
        raise SourceUnusable(
            f"the driver {error.name} is not installed: for MySQL and MariaDB run  pip install "
            "pymysql  and give mysql+pymysql://user:password@host/database"
        ) from None
    if engine.dialect.name == "sqlite":
        event.listen(engine, "connect", _read_any_text)
    elif engine.dialect.driver == "psycopg":
        event.listen(engine, "connect", _read_moments_as_text)
    return engine


def _read_moments_as_text(connection: Any, _record: object) -> None:
    # PostgreSQL has times that Python does not: infinity, 24:00, years after 9999.
    from psycopg.types.string import TextLoader

    for name in ("date", "time", "timetz", "timestamp", "timestamptz", "interval"):
        connection.adapters.register_loader(name, TextLoader)
    with connection.cursor() as cursor:
        cursor.execute("SET datestyle = ISO")
    connection.commit()


def _read_any_text(connection: Any, _record: object) -> None:
    # Text that is not UTF-8 is a fault of its row, and not the end of the import.
    connection.text_factory = lambda raw: raw.decode(errors="surrogateescape")
    with closing(connection.execute("PRAGMA query_only = ON")):
        pass


@contextmanager
def _reported() -> Iterator[None]:
    """Raise `SourceUnusable` with the first line of what the database or its driver reports."""
    try:
        yield
    except SQLAlchemyError as error:
        cause = str(getattr(error, "orig", error)).strip().partition("\n")[0]
        raise SourceUnusable(f"the source database reported: {cause}") from None
    except UnicodeDecodeError:
        raise SourceUnusable("the source database sent text that is not UTF-8") from None
