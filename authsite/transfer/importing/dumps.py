"""Read the rows of a table from a dump that mysqldump, mariadb-dump or pg_dump has written.

Both write one line for each row or statement, and no line break inside a value: MySQL manual,
11.1.1 (string literals), PostgreSQL manual, COPY (text format). Other text than what these programs
write is not understood, and is an error.
"""

import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import NamedTuple

from .rows import FileSource, Lines, Row, SourceUnusable, readable

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
