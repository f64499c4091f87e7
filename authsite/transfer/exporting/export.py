"""Read everything as of one moment, and make the lines of an export.

The database formats ids and moments as text, which is faster than values of Python. Rows come
through a cursor of the server, so memory does not grow.
"""

import json
from base64 import b32encode
from collections.abc import Iterator, Mapping, Sequence
from functools import reduce
from importlib.metadata import version
from operator import or_
from typing import Annotated, Any, Literal, NamedTuple, NotRequired
from typing import cast as cast_type
from uuid import UUID

from pydantic import Field, TypeAdapter
from sqlalchemy import (
    ColumnElement,
    Connection,
    Dialect,
    Text,
    Uuid,
    cast,
    func,
    select,
    type_coerce,
)
from sqlalchemy.orm import InstrumentedAttribute as Attribute
from typing_extensions import TypedDict

from authsite.platform.context import Services
from authsite.platform.crypto.sealing import Binding, SealingKeys, Unusable
from authsite.platform.db.base import Base, UtcDateTime
from authsite.platform.db.sealed import SealedText
from authsite.platform.db.transaction import snapshot_on
from authsite.platform.runtime import clock
from authsite.platform.user_data import USER_DATA, Line, Moment, exported_line

# The lines of an export, as types: the JSON Schema and the columns that are read follow from
# them.
#
# No line has what tokens, sessions or links are made of.


FORMAT = 1


@exported_line
class Head(TypedDict):
    """The first line."""

    type: Literal["export"]
    format: Literal[1]
    """Raised when a field is removed or changes its meaning; new fields may be added."""
    version: str
    """The version of authsite."""
    exported_at: Moment
    """All lines are as of one moment, shortly after this."""
    secrets: NotRequired[bool]
    """Whether the file has second factors and passkeys."""


def schema(lines: Sequence[Line]) -> dict[str, Any]:
    """The JSON Schema (2020-12) of a line: the first one, those of ``lines``, or the last one."""
    any_line: Any = reduce(or_, (line.fields for line in lines), Head) | _end(lines)
    described = TypeAdapter[Any](Annotated[any_line, Field(discriminator="type")]).json_schema()
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "A line of an export of authsite",
        **described,
    }


def _end(lines: Sequence[Line]) -> Any:
    """The type of the last line, which counts the ``lines``."""
    counts = {line.plural: NotRequired[int] if line.secret else int for line in lines}
    end = TypedDict("End", {"type": Literal["end"], **counts})  # type: ignore[misc]
    end.__doc__ = "The last line. A file without it is incomplete."
    return exported_line(end)


FETCHED = 2000  # rows in memory at once

_encode = json.JSONEncoder(check_circular=False).encode  # ASCII: U+2028 would end a line
_PG_MOMENT = 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"'


class Part(NamedTuple):
    """A table of the export, and how its rows become lines."""

    model: type[Base]
    line: Line


def parts_of(services: Services, *, secrets: bool = True) -> tuple[Part, ...]:
    """The tables that packages have registered with a line, those of ``secrets`` perhaps."""
    return tuple(
        Part(each.model, each.line)
        for each in USER_DATA.of(services).values()
        if each.line and (secrets or not each.line.secret)
    )


def lines(services: Services, *, secrets: bool = False) -> Iterator[Sequence[str]]:
    """The lines of an export, some at a time, without line ends. Raises SQLAlchemy's errors.

    ``secrets``: with second factors and passkeys.
    """
    head = {
        "type": "export",
        "format": FORMAT,
        "version": version("authsite"),
        "exported_at": clock.now().strftime("%Y-%m-%dT%H:%M:%S.%fZ"),
        "secrets": secrets,
    }
    yield [_encode(head)]
    counts: dict[str, Any] = {"type": "end"}
    with services.database.autocommit.connect() as connection, snapshot_on(connection):
        for part in parts_of(services, secrets=secrets):
            counts[part.line.plural] = 0
            for some in _lines(connection, part, services.sealing):
                counts[part.line.plural] += len(some)
                yield some
    yield [_encode(counts)]


def _lines(connection: Connection, part: Part, keys: SealingKeys) -> Iterator[list[str]]:
    line = part.line
    fields = [name for name in line.fields.__annotations__ if name != "type"]
    names = [*fields, *(name for name in line.columns if name not in fields)]
    columns = [getattr(part.model, line.columns.get(name) or name) for name in names]
    query = select(*(_as_text(column, connection.dialect) for column in columns))
    kind = {"type": line.fields.__annotations__["type"].__args__[0]}
    streamed = {"stream_results": True, "max_row_buffer": FETCHED}
    result = connection.execute(query, execution_options=streamed)
    for rows in result.partitions(FETCHED):
        found = [kind | dict(zip(names, row, strict=True)) for row in rows]
        if line.complete:
            for values in found:
                line.complete(values)
        if line.sealed:
            sealed = part.model.__table__.columns[line.sealed].type
            for values in found:
                values[line.sealed] = _opened(keys, cast_type(SealedText, sealed), values, line)
        yield [_encode(values) for values in found]


def _opened(
    keys: SealingKeys, sealed: SealedText, values: Mapping[str, Any], line: Line
) -> str | None:
    """What was sealed, in base32; None if no key opens it."""
    binding = Binding(sealed.kind, UUID(values["id"]), user=UUID(values["user_id"]))
    try:
        return b32encode(keys.open(values[line.sealed], binding)).decode()
    except Unusable:
        return None


def _as_text(column: Attribute[Any], dialect: Dialect) -> Any:
    """``column``, formatted by the database: a UUID, a moment, or the value as it is."""
    sqlite = dialect.name == "sqlite"
    if isinstance(column.type, Uuid) and sqlite:  # 32 digits
        digits = type_coerce(column, Text)
        text: ColumnElement[str] = func.substr(digits, 1, 8, type_=Text)
        for start, length in ((9, 4), (13, 4), (17, 4), (21, 12)):
            text = text + "-" + func.substr(digits, start, length, type_=Text)
        return text  # NULL stays NULL
    if isinstance(column.type, Uuid):
        return cast(column, Text)
    if isinstance(column.type, UtcDateTime) and sqlite:
        return func.replace(type_coerce(column, Text), " ", "T", type_=Text) + "Z"
    if isinstance(column.type, UtcDateTime):
        return func.to_char(func.timezone("UTC", column), _PG_MOMENT)
    return column
