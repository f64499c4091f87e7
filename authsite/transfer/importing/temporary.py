"""Tables of one import in a temporary file, so that memory does not grow."""

import sqlite3
from collections.abc import Collection, Iterator
from typing import Any

AT_ONCE = 500  # parameters of a statement


def new_table(definition: str) -> sqlite3.Connection:
    """A temporary file with one table, ``name (columns)``; it is removed when it is closed."""
    file = sqlite3.connect("")
    file.execute(f"CREATE TABLE {definition} WITHOUT ROWID")
    return file


def look_up(
    file: sqlite3.Connection, query: str, keys: Collection[str], *parameters: str
) -> Iterator[Any]:
    """The rows of a ``query`` after the ``parameters``; ``{keys}`` in it stands for the keys."""
    wanted = list(keys)
    for start in range(0, len(wanted), AT_ONCE):
        some = wanted[start : start + AT_ONCE]
        marks = ", ".join("?" * len(some))
        yield from file.execute(query.format(keys=marks), (*parameters, *some))
