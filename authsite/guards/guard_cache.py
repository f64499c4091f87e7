"""`guard-cache`: a guard accepts a credential again that this process has just accepted.

Only an acceptance is answered from memory. A refusal always comes from the database, since what
was read may be out of date: another process has refreshed the token or confirmed the address.
"""

import time
from collections.abc import Callable, Sequence
from datetime import timedelta
from hashlib import sha256
from itertools import islice
from threading import Lock

from sqlalchemy.exc import SQLAlchemyError

from authsite.platform.runtime import clock
from authsite.users.caller import Caller

SIZE = 20_000  # callers: about 20 MB
BATCH = 64  # callers that are read together
IN_USE = 5  # seconds: reading a caller together with others that often costs less than once alone
AHEAD = 0.1  # of its time: an entry in use is read again in this last part of it

ReadTogether = Callable[[Sequence[Caller]], Sequence[Caller | None]]
"""Reads callers again, at most `BATCH`; None for a credential that has ended."""


class _Entry:
    """A caller, and moments of the monotonic clock.

    ``read_at`` and ``used_at``: when it was read and last used. ``until``: when it ceases to be
    accepted. ``due_at``: when it is read again if it is in use.
    """

    __slots__ = ("caller", "due_at", "read_at", "until", "used_at")

    def __init__(self, caller: Caller, read_at: float, lifetime: float, used_at: float) -> None:
        accepted_for = min(lifetime, caller.expires - clock.now().timestamp())
        self.caller, self.read_at, self.used_at = caller, read_at, used_at
        self.until = read_at + accepted_for
        self.due_at = self.until - AHEAD * accepted_for


class RecentCallers:
    """The callers that this process has accepted within ``lifetime``, by their credentials.

    It holds hashes of the credentials, in the order of reading. Shortly before an entry expires, or
    later, it is read again together with others that were used within ``IN_USE`` seconds or the
    lifetime, and whose lifetime is half over (``read_together``). With thousands of tokens in use a
    process sees each of them less often than once in a lifetime: one query for each would cost as
    much as no memory. While one thread reads, the others still find what has not expired.
    ``now``: the monotonic clock, in seconds.
    """

    def __init__(
        self,
        lifetime: timedelta,
        read_together: ReadTogether | None = None,
        *,
        now: Callable[[], float] = time.monotonic,
        size: int = SIZE,
    ) -> None:
        self._lifetime, self._size, self._now = lifetime.total_seconds(), size, now
        self._in_use = max(self._lifetime, IN_USE)
        self._read_together = read_together
        self._entries: dict[bytes, _Entry] = {}
        self._changing = Lock()  # the order of entries; held for moments only
        self._reading = Lock()  # one thread reads together

    def count(self) -> int:
        """How many credentials it holds."""
        return len(self._entries)

    def find(self, credential: str) -> Caller | None:
        """The caller that was read by ``credential`` within the lifetime, or None."""
        key, now = _key(credential), self._now()
        entry = self._entries.get(key)
        if entry is None:
            return None
        in_use, entry.used_at = self._is_in_use(entry, now), now
        if in_use and now >= entry.due_at:
            entry, now = self._read_again(key, entry), self._now()
        return entry.caller if entry and now < entry.until else None

    def read(self, credential: str, authenticate: Callable[[], Caller]) -> Caller:
        """The caller by ``authenticate``, which reads the database; it is kept for `find`."""
        read_at = self._now()  # before the query: what it reads may change at any time after that
        caller = authenticate()
        self.keep(credential, caller, read_at)
        return caller

    def keep(self, credential: str, caller: Caller, read_at: float) -> None:
        """Keep a caller for `find`; ``read_at``: what it is based on was true at this moment."""
        with self._changing:
            self._drop_old()
            key = _key(credential)
            self._entries.pop(key, None)
            self._entries[key] = _Entry(caller, read_at, self._lifetime, self._now())

    def forget(self, credential: str) -> None:
        """Drop what `find` would return."""
        with self._changing:
            self._entries.pop(_key(credential), None)

    def _read_again(self, key: bytes, entry: _Entry) -> _Entry | None:
        """The entry as it is after reading it again with others; None if the credential has ended.

        If another thread is reading, the entry stays as it is.
        """
        if self._read_together is None or not self._reading.acquire(blocking=False):
            return entry
        try:
            with self._changing:
                due = {key: entry, **self._due()}
            read_at = self._now()
            try:
                callers = self._read_together([each.caller for each in due.values()])
            except SQLAlchemyError:
                return entry  # until its lifetime is over; then the guard reads, and has the error
            with self._changing:
                for each, caller in zip(due, callers, strict=True):
                    # An entry that was removed during the query is not added again.
                    if self._entries.pop(each, None) is not None and caller is not None:
                        used_at = due[each].used_at
                        self._entries[each] = _Entry(caller, read_at, self._lifetime, used_at)
            return self._entries.get(key)
        finally:
            self._reading.release()

    def _due(self) -> dict[bytes, _Entry]:
        """The entries in use whose lifetime is half over, the oldest first, less than `BATCH`.

        Those among them that have expired and are not in use are dropped.
        """
        now = self._now()
        due: dict[bytes, _Entry] = {}
        for key, entry in list(islice(self._entries.items(), 4 * BATCH)):
            if entry.read_at > now - self._lifetime / 2 or len(due) == BATCH - 1:
                break
            if self._is_in_use(entry, now):
                due[key] = entry
            elif entry.until <= now:
                del self._entries[key]
        return due

    def _is_in_use(self, entry: _Entry, now: float) -> bool:
        return self._read_together is not None and now < entry.used_at + self._in_use

    def _drop_old(self) -> None:
        """Drop the oldest entries that have expired and are not in use, or that are too many.

        Two for each new one, so that no request has to drop thousands.
        """
        now = self._now()
        for _ in range(2):
            key = next(iter(self._entries), None)
            if key is None:
                return
            entry = self._entries[key]
            expired = entry.until <= now and not self._is_in_use(entry, now)
            if not expired and len(self._entries) < self._size:
                return
            del self._entries[key]


def _key(credential: str) -> bytes:
    return sha256(credential.encode(errors="surrogateescape")).digest()
