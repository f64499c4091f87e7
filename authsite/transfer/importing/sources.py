"""Read the rows of a table: from a database, a dump of one, or a file of comma-separated values."""

import csv
import re
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any, NamedTuple

from sqlalchemy import ColumnClause, Engine, column, create_engine, event, func, inspect, select
from sqlalchemy import table as named_table
from sqlalchemy.engine import make_url
from sqlalchemy.exc import ArgumentError, NoSuchModuleError, SQLAlchemyError

from .rows import (
    FileSource,
    Lines,
    Row,
    Source,
    SourceUnusable,
    UserDraft,
    flag,
    moment,
    readable,
    required,
    text,
)

# Read the rows of a table from a dump that mysqldump, mariadb-dump or pg_dump has written.
#
# Both write one line for each row or statement, and no line break inside a value: MySQL manual,
# 11.1.1 (string literals), PostgreSQL manual, COPY (text format). Other text than what these
# programs write is not understood, and is an error.


_MYSQL_COLUMN = re.compile(r"\s+`([^`]+)`\s")
_MYSQL_USE = re.compile(r"USE `([^`]+)`;")
_MYSQL_CREATE = re.compile(r"CREATE TABLE `([^`]+)`")
_MYSQL_INSERT = re.compile(
    r"(?:INSERT(?: IGNORE)?|REPLACE) INTO `([^`]+)`\s*+(?:\(([^)]*)\)\s*+)?VALUES\s*"
)
# A value and the character after it. Possessive, so that a long text takes linear time.
_MYSQL_VALUE = re.compile(
    r"\s*(?:(?:_binary )?'((?:[^'\\]++|\\.|'')*+)'|(NULL)|([-+.0-9eE]+)|(0x[0-9A-Fa-f]*))\s*([,)])"
)
_MYSQL_ESCAPE = re.compile(r"\\(.)|''", re.DOTALL)
_MYSQL_SPECIAL = {"0": "\0", "n": "\n", "r": "\r", "t": "\t", "b": "\b", "Z": "\x1a"}

_PG_COPY = re.compile(r"COPY (?:(\S+)\.)?\"?([^\s\".]+)\"? \(([^)]*)\) FROM stdin;")
_PG_INSERT = re.compile(r"INSERT INTO (?:(\S+)\.)?\"?([^\s\".]+)")
_PG_ESCAPE = re.compile(r"\\([0-7]{1,3}|x[0-9A-Fa-f]{1,2}|.)")
_PG_SPECIAL = {"b": "\b", "f": "\f", "n": "\n", "r": "\r", "t": "\t", "v": "\v"}

_HEAD = 4096  # bytes that tell who has written the file
_CUT_OFF = "the dump is cut off: it ends in the middle of {}. Make it again, or copy all of it"
_ADVICE = (
    "give a dump of mysqldump, mariadb-dump or pg_dump (plain, without --inserts), a CSV file, or "
    "the URL of the database"
)


def schema_and_name(table: str) -> tuple[str | None, str]:
    """The two parts of ``schema.table``; None without a schema."""
    schema, _, name = table.rpartition(".")
    return schema or None, name


class InSchema(NamedTuple):
    """A row, and the schema (of MySQL: the database) of its table, if the dump names it."""

    schema: str | None
    values: Mapping[str, object]


class DumpSource(FileSource):
    """A dump."""

    def __init__(self, path: Path) -> None:
        super().__init__(path)
        with readable(path), path.open("rb") as file:
            head = file.read(_HEAD)
        if head.startswith(b"PGDMP"):
            raise SourceUnusable(f"{path} is an archive: run  pg_restore --file=dump.sql {path}")
        if head.startswith(b"\x1f\x8b"):
            raise SourceUnusable(f"{path} is compressed: run  gunzip {path}")
        if head.startswith(b"SQLite format 3"):
            raise SourceUnusable(f"{path} is a database of SQLite: give sqlite:///{path}")
        if b"MySQL dump" in head or b"MariaDB dump" in head:
            self._read = _mysql_rows
        elif b"PostgreSQL database dump" in head:
            self._read = _postgresql_rows
        else:
            raise SourceUnusable(f"{path} is not a dump that authsite can read: {_ADVICE}")

    def has(self, table: str) -> bool:
        """Whether the dump has rows of the table.

        Raises `SourceUnusable` if several schemas have one of this name, and ``table`` names none.
        """
        wanted, name = schema_and_name(table)
        with Lines(self._path) as lines:
            found = {row.schema for row in self._read(lines, name) if _is_in(wanted, row)}
        if len(found) > 1:
            named = " or ".join(sorted(f"{schema}.{name}" for schema in found))
            raise SourceUnusable(
                f"the dump has several tables {name}: make a dump of one schema or database, or "
                f"choose the table of users with  --users-table {named}"
            )
        return bool(found)

    def rows(self, table: str) -> Iterator[Row]:
        """The rows of the table, in the order of the file."""
        wanted, name = schema_and_name(table)
        with Lines(self._path) as lines:
            found = (row for row in self._read(lines, name) if _is_in(wanted, row))
            for number, row in enumerate(found, start=1):
                yield Row(number, row.values, lines.read)


def _is_in(schema: str | None, row: InSchema) -> bool:
    return None in (schema, row.schema) or row.schema == schema


def _mysql_rows(lines: Lines, table: str) -> Iterator[InSchema]:
    columns: list[str] = []
    create, schema = False, None
    stream = iter(lines)
    for line in stream:
        if match := _MYSQL_USE.match(line):
            columns, schema = [], match[1]
        elif match := _MYSQL_CREATE.match(line):
            create = match[1] == table
        elif create and (match := _MYSQL_COLUMN.match(line)):
            columns.append(match[1])
        elif create and line.startswith(")"):
            create = False
        elif (match := _MYSQL_INSERT.match(line)) and match[1] == table:
            named = re.findall(r"`([^`]+)`", match[2] or "") or columns
            for values in _mysql_values(line[match.end() :], stream):
                if len(values) != len(named):
                    raise SourceUnusable(
                        f"a row of {table} has {len(values)} values and the table {len(named)} "
                        f"columns: {_ADVICE}"
                    )
                yield InSchema(schema, dict(zip(named, values, strict=True)))


def _mysql_values(text: str, following: Iterator[str]) -> Iterator[list[str | None]]:
    """The rows of an INSERT: ``text`` after VALUES, and ``following`` lines (MariaDB)."""
    position = 0
    while True:
        sign = text[position : position + 1]
        if sign == "(":
            values: list[str | None] = []
            position, end = position + 1, ","
            while end != ")":
                found = _MYSQL_VALUE.match(text, position)
                if found is None:
                    raise SourceUnusable(_unreadable(text, following))
                values.append(_mysql_value(found))
                position, end = found.end(), found[5]
            yield values
        elif sign == ";":
            return
        elif sign in (",", "\n", "\r", " "):
            position += 1
        elif not sign:
            text, position = next(following, ""), 0
            if not text:
                raise SourceUnusable(_CUT_OFF.format("an INSERT"))
        else:
            raise SourceUnusable(f"an INSERT cannot be read: {_ADVICE}")


def _unreadable(text: str, following: Iterator[str]) -> str:
    """What to do about an INSERT that has no value where one must be."""
    if next(following, "") or text.rstrip().endswith(";"):
        return f"an INSERT cannot be read: {_ADVICE}"
    return _CUT_OFF.format("an INSERT")


def _mysql_value(found: re.Match[str]) -> str | None:
    text, null, number, hexadecimal, _ = found.groups()
    if text is not None:
        return _MYSQL_ESCAPE.sub(
            lambda escape: _MYSQL_SPECIAL.get(escape[1], escape[1]) if escape[1] else "'", text
        )
    if hexadecimal:
        digits = hexadecimal[2:]  # 0x4 is 0x04: MySQL manual, 11.1.4
        return bytes.fromhex("0" * (len(digits) % 2) + digits).decode(errors="surrogateescape")
    return None if null else number


def _postgresql_rows(lines: Lines, table: str) -> Iterator[InSchema]:
    stream = iter(lines)
    for line in stream:
        if (match := _PG_INSERT.match(line)) and match[2] == table:
            raise SourceUnusable(f"the dump was made with --inserts: {_ADVICE}")
        if not (match := _PG_COPY.match(line)):
            continue
        schema, name, listed = match.groups()
        columns = [column.strip().strip('"') for column in listed.split(",")]
        # The rows of other tables are skipped here: their text is not a statement.
        for row in stream:
            if row.rstrip("\r\n") == r"\.":
                break
            if not row.endswith("\n"):
                raise SourceUnusable(_CUT_OFF.format("a table"))
            if name == table:
                fields = row.rstrip("\r\n").split("\t")
                if len(fields) != len(columns):
                    raise SourceUnusable(f"a row of {table} cannot be read: {_ADVICE}")
                values = dict(zip(columns, map(_postgresql_value, fields), strict=True))
                yield InSchema(schema and schema.strip('"'), values)
        else:
            raise SourceUnusable(_CUT_OFF.format("a table"))


def _postgresql_value(field: str) -> str | None:
    if field == r"\N":
        return None
    return _PG_ESCAPE.sub(_postgresql_escape, field) if "\\" in field else field


def _postgresql_escape(escape: re.Match[str]) -> str:
    text = escape[1]
    if text[0] in "01234567":
        return chr(int(text, 8) & 0xFF)
    if text[0] == "x" and len(text) > 1:
        return chr(int(text[1:], 16))
    return _PG_SPECIAL.get(text, text)


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


# Users of any other system, as a table with our own names of columns.


USERS = "users"


def user(row: Mapping[str, object]) -> UserDraft:
    """A row of the table. Only ``email`` is required. Raises `Fault`."""
    return UserDraft(
        source_id=text(row, "id") or required(row, "email").lower(),
        login_names={kind: text(row, kind) for kind in ("email", "username", "phone")},
        name=text(row, "name"),
        password=text(row, "password_hash"),
        confirmed=flag(row, "confirmed") or None,
        confirmed_at=moment(row, "email_verified_at"),
        disabled=flag(row, "disabled"),
        created_at=moment(row, "created_at"),
        updated_at=moment(row, "updated_at"),
    )
