"""Reading several counters in one round trip, where the storage can."""

from abc import abstractmethod
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from limits.storage import Storage


class Window(NamedTuple):
    """The count of a running window, which ends at ``end``, in seconds since 1970."""

    hits: int
    end: float


class ReadingTogether(Storage):
    """A storage of the limits library that may read several counters at once."""

    STORAGE_SCHEME = None

    @abstractmethod
    def read(self, keys: Sequence[str]) -> Mapping[str, Window] | None:
        """The running windows of ``keys``; None if the storage reads one key after another.

        Raises `StorageError`.
        """


class Windows:
    """The windows of ``keys`` as of its creation, with the methods of a storage.

    Another key, and any key of a storage that does not read together, is read at each use.
    """

    def __init__(self, storage: Storage, keys: Sequence[str]) -> None:
        self._storage, self._keys = storage, keys
        self._read = storage.read(keys) if isinstance(storage, ReadingTogether) else None

    def get(self, key: str) -> int:
        """The count of ``key``; 0 without a running window."""
        if self._read is None or key not in self._keys:
            return self._storage.get(key)
        return self._read[key].hits if key in self._read else 0

    def get_expiry(self, key: str) -> float:
        """When the window of ``key`` ends, in seconds since 1970; 0 or the past without one."""
        if self._read is None or key not in self._keys:
            return self._storage.get_expiry(key)
        return self._read[key].end if key in self._read else 0
