"""`guard-cache`: a guard accepts a credential again that this process has just accepted.

Only an acceptance is answered from memory. A refusal always comes from the database, since what
was read may be out of date: another process has refreshed the token or confirmed the address.
"""

import time
from collections.abc import Callable
from datetime import timedelta
from hashlib import sha256
from typing import NamedTuple

from authsite import clock

from .caller import Caller

SIZE = 10_000  # callers in each of two halves: about 20 MB together


class Acceptance(NamedTuple):
    """A caller, and until when it is accepted, in seconds of the monotonic clock."""

    caller: Caller
    until: float


class RecentCallers:
    """The callers that this process has accepted within ``lifetime``, by their credentials.

    Holds hashes of the credentials. It is bounded: when the newer half is full, or older than
    ``lifetime``, it becomes the older half, and what was the older half is dropped. The single
    operations on a dict are atomic, so threads need no lock: at worst an entry is lost, and the
    database is asked. ``now``: the monotonic clock, in seconds.
    """

    def __init__(
        self, lifetime: timedelta, now: Callable[[], float] = time.monotonic, size: int = SIZE
    ) -> None:
        self._lifetime, self._size = lifetime.total_seconds(), size
        self._now = now
        self._newer: dict[bytes, Acceptance] = {}
        self._older: dict[bytes, Acceptance] = {}
        self._newer_since = now()

    def count(self) -> int:
        """How many credentials it holds."""
        return len(self._newer) + len(self._older)

    def find(self, credential: str) -> Caller | None:
        """The caller that was read by ``credential`` within the lifetime, or None."""
        key = _key(credential)
        found = self._newer.get(key) or self._older.get(key)
        return found.caller if found and self._now() < found.until else None

    def read(self, credential: str, authenticate: Callable[[], Caller]) -> Caller:
        """The caller by ``authenticate``, which reads the database; it is kept for `find`."""
        read_at = self._now()  # before the query: what it reads may change at any time after that
        caller = authenticate()
        if read_at - self._newer_since >= self._lifetime or len(self._newer) >= self._size:
            self._older, self._newer, self._newer_since = self._newer, {}, read_at
        left = caller.expires - clock.now().timestamp()
        self._newer[_key(credential)] = Acceptance(caller, read_at + min(self._lifetime, left))
        return caller

    def forget(self, credential: str) -> None:
        """Drop what `find` would return."""
        key = _key(credential)
        self._newer.pop(key, None)
        self._older.pop(key, None)


def _key(credential: str) -> bytes:
    return sha256(credential.encode(errors="surrogateescape")).digest()
