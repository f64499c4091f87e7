"""Lists that go on with a cursor: nothing is skipped or repeated while rows are added.

A cursor has the values of the last row by which the list is ordered. It is sealed, since these are
names and addresses, and bound to the list with its filters and to the caller.
"""

import json
from collections.abc import Mapping, Sequence
from datetime import timedelta
from typing import Generic, NamedTuple, TypeVar

from authsite.platform.context import Context
from authsite.platform.crypto.sealing import Binding, Unusable
from authsite.platform.runtime import clock

from .administrator import Administrator
from .errors import InvalidCursor

LIFETIME = timedelta(hours=24)
DEFAULT_LIMIT, MAX_LIMIT = 50, 200  # rows
MAX_LENGTH = 8192  # characters of a cursor; a name has up to 1024, each of up to 4 bytes
Row = TypeVar("Row")
Key = Sequence[str | int | None]
"""The values of a row by which a list is ordered; times as RFC 3339 text."""


class Page(NamedTuple, Generic[Row]):
    """A part of a list, and the cursor of the next one; None at the end."""

    rows: Sequence[Row]
    next: str | None


def cursor(ctx: Context, by: Administrator, filters: Mapping[str, object], last: Key) -> str:
    """The cursor behind the row with the key ``last``. ``filters`` names the list, too."""
    expires = int((clock.now() + LIFETIME).timestamp())
    text = json.dumps([list(last), expires], ensure_ascii=False, separators=(",", ":")).encode()
    return ctx.services.sealing.seal(text, _binding(by, filters)).rstrip("=")


def after(
    ctx: Context, by: Administrator, filters: Mapping[str, object], text: str | None
) -> list[str | int | None] | None:
    """The key of the row that the cursor ``text`` is behind; None without a cursor.

    Raises `InvalidCursor`.
    """
    if not text:
        return None
    if len(text) > MAX_LENGTH:
        raise InvalidCursor
    try:
        padding = "=" * (-len(text.rpartition(".")[2]) % 4)
        value = ctx.services.sealing.open(text + padding, _binding(by, filters))
    except Unusable:
        raise InvalidCursor from None
    last, expires = json.loads(value)
    if expires <= clock.now().timestamp():
        raise InvalidCursor
    found: list[str | int | None] = last
    return found


def _binding(by: Administrator, filters: Mapping[str, object]) -> Binding:
    given = {name: str(value) for name, value in filters.items() if value not in (None, "")}
    return Binding("admin cursor", json.dumps([by.kind, str(by.id), given], sort_keys=True))
