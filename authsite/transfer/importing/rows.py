"""What a source of rows is, and how the lines of its files are read."""

from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from io import BufferedReader
from pathlib import Path
from typing import NamedTuple, Self


class SourceUnusable(Exception):
    """The source as a whole cannot be read, or not any further; the text says what to do."""


class Row(NamedTuple):
    """A row: its number (the line in a file of values), and how much of the table is read with it.

    ``fault``: why the row cannot be read, or None.
    """

    number: int
    values: Mapping[str, object]
    done: int
    fault: str | None = None


class Source(ABC):
    """Where rows come from. Methods raise `SourceUnusable`."""

    files: Sequence[Path]
    """The files that are read."""

    @abstractmethod
    def has(self, table: str) -> bool:
        """Whether there is such a table."""

    def columns(self, _table: str) -> Sequence[str] | None:
        """The names of the columns, if the source has them apart from its rows."""
        return None

    def ignored(self, _table: str) -> Sequence[str]:
        """The columns that were not read, of a file that its operator has written."""
        return ()

    @abstractmethod
    def size(self, table: str) -> int:
        """What `Row.done` is at the end: rows, or bytes."""

    @abstractmethod
    def rows(self, table: str) -> Iterator[Row]:
        """The rows, in the order of the primary key or of the file."""

    @abstractmethod
    def close(self) -> None:
        """Close what is open between two tables."""


class FileSource(Source):
    """A file with all tables. Each table is read in a separate pass."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self.files = [path]

    def size(self, _table: str) -> int:
        """The bytes of the file."""
        return self._path.stat().st_size

    def close(self) -> None:
        """Nothing is open between two tables."""


class Lines:
    """The lines of a text file, and the number of bytes that are read.

    A byte that is not UTF-8 becomes a surrogate, which no field may contain. Raises
    `SourceUnusable` for a file that cannot be read.
    """

    def __init__(self, path: Path, encoding: str = "utf-8") -> None:
        self._path, self._encoding = path, encoding
        self.read = 0

    def __enter__(self) -> Self:
        with readable(self._path):
            self._file: BufferedReader = self._path.open("rb")
        return self

    def __exit__(self, *_error: object) -> None:
        self._file.close()

    def __iter__(self) -> Iterator[str]:
        while line := self._next():
            encoding = self._encoding if self.read == 0 else "utf-8"
            self.read += len(line)
            yield line.decode(encoding, "surrogateescape")

    def _next(self) -> bytes:
        with readable(self._path):
            return self._file.readline()


@contextmanager
def readable(path: Path) -> Iterator[None]:
    """Raise `SourceUnusable` if the file ``path`` cannot be read."""
    try:
        yield
    except OSError as error:
        raise SourceUnusable(f"{path}: {error.strerror}: give a file that can be read") from None
