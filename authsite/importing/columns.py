"""What fits into a column of our tables."""

from collections.abc import Mapping
from typing import Any, cast

from sqlalchemy import Column, String, Table

from .drafts import Fault


def size(column: Column[Any]) -> int:
    """The characters that a column of text holds."""
    return cast(String, column.type).length or 0


def require_storable(table: Table, values: Mapping[str, Any]) -> None:
    """Raise `Fault` for a text that is too long for its column, or that PostgreSQL cannot store."""
    for name, value in values.items():
        if not isinstance(value, str):
            continue
        if "\0" in value or not _is_unicode(value):
            raise Fault(name, "has a NUL character, or bytes that are not UTF-8")
        if len(value) > (longest := size(table.c[name])):
            raise Fault(name, f"has more than {longest} characters")


def _is_unicode(text: str) -> bool:
    try:
        text.encode()
    except UnicodeEncodeError:  # a surrogate, which stands for a byte that is not UTF-8
        return False
    return True
