"""The lines of an export, as types: the JSON Schema and the columns that are read follow from them.

No line has what tokens, sessions or links are made of.
"""

from collections.abc import Sequence
from functools import reduce
from operator import or_
from typing import Annotated, Any, Literal, NotRequired

from pydantic import Field, TypeAdapter
from typing_extensions import TypedDict

from authsite.platform.user_data import Line, Moment, exported_line

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
