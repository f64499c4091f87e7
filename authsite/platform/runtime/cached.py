"""A value that is read again only after some seconds."""

import threading
from collections.abc import Callable
from time import monotonic
from typing import Generic, TypeVar

T = TypeVar("T")


class Cached(Generic[T]):
    """What ``read()`` returned at most ``seconds`` ago.

    One thread reads at a time. The others get the former value until then, so that a database that
    does not answer holds up one thread and no more.
    """

    def __init__(self, read: Callable[[], T], seconds: float) -> None:
        self._read, self._seconds = read, seconds
        self._lock = threading.Lock()
        self._until = 0.0
        self._values: list[T] = []  # the last one, or none before the first

    def get(self) -> T:
        """The value. Raises what ``read`` raises."""
        if (not self._values or monotonic() >= self._until) and self._lock.acquire(
            blocking=not self._values
        ):
            try:
                if not self._values or monotonic() >= self._until:
                    self._values = [self._read()]
                    self._until = monotonic() + self._seconds
            finally:
                self._lock.release()
        return self._values[0]

    def forget(self) -> None:
        """Read again at the next `get`."""
        self._until = 0.0
