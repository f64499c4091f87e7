"""The login names that a dry run would have written."""

import sqlite3
import uuid
from collections.abc import Mapping, Sequence

AT_ONCE = 500  # parameters of a statement


class Seen:
    """Login names, in a temporary file, so that memory does not grow."""

    def __init__(self) -> None:
        self._file = sqlite3.connect("")  # removed when it is closed
        self._file.execute("CREATE TABLE names (key TEXT PRIMARY KEY, value TEXT) WITHOUT ROWID")

    def add(self, names: Mapping[str, uuid.UUID]) -> None:
        """Add login names (key -> id of the user)."""
        rows = [(key, str(id_)) for key, id_ in names.items()]
        self._file.executemany("INSERT OR IGNORE INTO names VALUES (?, ?)", rows)

    def names(self, keys: Sequence[str]) -> dict[str, uuid.UUID]:
        """Those of the login names that are there: key -> id of the user."""
        found: dict[str, uuid.UUID] = {}
        for start in range(0, len(keys), AT_ONCE):
            some = keys[start : start + AT_ONCE]
            marks = ", ".join("?" * len(some))
            query = f"SELECT key, value FROM names WHERE key IN ({marks})"  # noqa: S608
            found |= {key: uuid.UUID(id_) for key, id_ in self._file.execute(query, some)}
        return found

    def close(self) -> None:
        """Remove the file."""
        self._file.close()
