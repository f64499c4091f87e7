"""Read the lines of a file that ``authsite export`` has written."""

import json
import os
from collections.abc import Iterator
from pathlib import Path

from .rows import FileSource, Lines, Row, SourceUnusable, readable

_TAIL = 4096  # bytes; the last line is shorter


class ExportSource(FileSource):
    """An export; its tables are the types of the lines. Raises `SourceUnusable`."""

    def __init__(self, source: str) -> None:
        if "://" in source:  # with a password perhaps, which no message has
            raise SourceUnusable("give a file of `authsite export`, and no URL")
        path = Path(source)
        super().__init__(path)
        if not path.is_file():
            raise SourceUnusable(
                f"{path}: there is no such file; give one that `authsite export` has written"
            )
        with readable(path), path.open("rb") as file:
            first = file.read(_TAIL).partition(b"\n")[0]
            file.seek(max(0, path.stat().st_size - _TAIL), os.SEEK_SET)
            last = file.read().rstrip(b"\n").rpartition(b"\n")[2]
        if _type(first) != "export":
            raise SourceUnusable(
                f"{path} is no file of `authsite export`: give one that this command has written"
            )
        if _type(last) != "end":
            raise SourceUnusable(f"{path} is incomplete: run `authsite export` again")

    def has(self, _table: str) -> bool:
        """An export has all tables, perhaps without rows."""
        return True

    def rows(self, table: str) -> Iterator[Row]:
        """The lines of the type ``table``."""
        with Lines(self._path) as lines:
            for number, line in enumerate(lines, start=1):
                try:
                    values = json.loads(line)
                except (ValueError, RecursionError):
                    values = None
                if not isinstance(values, dict):
                    yield Row(number, {}, lines.read, "is no JSON object")
                elif values.get("type") == table:
                    yield Row(number, values, lines.read)


def _type(line: bytes) -> object:
    try:
        found = json.loads(line)
    except (ValueError, RecursionError):
        return None
    return found.get("type") if isinstance(found, dict) else None
