"""The users that a dry run would have written."""

import sqlite3
import uuid
from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime

AT_ONCE = 500  # parameters of a statement


class Seen:
    """Users and their login names, in a temporary file, so that memory does not grow."""

    def __init__(self) -> None:
        self._file = sqlite3.connect("")  # removed when it is closed
        for name in ("users", "names"):
            self._file.execute(
                f"CREATE TABLE {name} (key TEXT PRIMARY KEY, value TEXT) WITHOUT ROWID"
            )

    def add(self, users: Mapping[uuid.UUID, datetime], names: Mapping[str, uuid.UUID]) -> None:
        """Add users (id -> when created) and login names (key -> id)."""
        rows = [(str(id_), created.isoformat()) for id_, created in users.items()]
        self._file.executemany("INSERT OR IGNORE INTO users VALUES (?, ?)", rows)
        rows = [(key, str(id_)) for key, id_ in names.items()]
        self._file.executemany("INSERT OR IGNORE INTO names VALUES (?, ?)", rows)

    def users(self, ids: Sequence[uuid.UUID]) -> dict[uuid.UUID, datetime]:
        """Those of the users that are there: id -> when created."""
        found = self._find("users", [str(id_) for id_ in ids])
        return {uuid.UUID(id_): datetime.fromisoformat(created) for id_, created in found}

    def names(self, keys: Sequence[str]) -> dict[str, uuid.UUID]:
        """Those of the login names that are there: key -> id of the user."""
        return {key: uuid.UUID(id_) for key, id_ in self._find("names", keys)}

    def close(self) -> None:
        """Remove the file."""
        self._file.close()

    def _find(self, table: str, keys: Sequence[str]) -> Iterator[tuple[str, str]]:
        for start in range(0, len(keys), AT_ONCE):
            some = keys[start : start + AT_ONCE]
            marks = ", ".join("?" * len(some))
            query = f"SELECT key, value FROM {table} WHERE key IN ({marks})"  # noqa: S608
            yield from self._file.execute(query, some)
