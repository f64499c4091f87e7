"""The login names that a dry run would have written."""

import uuid
from collections.abc import Mapping, Sequence

from .temporary import look_up, new_table


class Seen:
    """Login names, in a temporary file."""

    def __init__(self) -> None:
        self._file = new_table("names (key TEXT PRIMARY KEY, value TEXT)")

    def add(self, names: Mapping[str, uuid.UUID]) -> None:
        """Add login names (key -> id of the user)."""
        rows = [(key, str(id_)) for key, id_ in names.items()]
        self._file.executemany("INSERT OR IGNORE INTO names VALUES (?, ?)", rows)

    def names(self, keys: Sequence[str]) -> dict[str, uuid.UUID]:
        """Those of the login names that are there: key -> id of the user."""
        query = "SELECT key, value FROM names WHERE key IN ({keys})"
        return {key: uuid.UUID(id_) for key, id_ in look_up(self._file, query, keys)}

    def close(self) -> None:
        """Remove the file."""
        self._file.close()
