"""How many requests to others may be under way at a time in a process.

A provider that is slow or down costs the sign-ins at this provider, and no other request.
"""

import threading
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager

from authsite.platform.http.errors import TemporarilyUnavailable
from authsite.platform.runtime.slots import THREADS

EACH = 2
ALL_PROVIDERS = THREADS // 4
AT_ONCE = ALL_PROVIDERS + EACH
UNTRUSTED = "*"
"""The slot of requests to a URL that an unauthenticated caller has named; no provider's name."""


class NoSlot(TemporarilyUnavailable):
    """As many requests are under way as may be at a time."""


class OutboundSlots:
    """`EACH` for each provider and for `UNTRUSTED`; `ALL_PROVIDERS` for all providers together."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._taken: Counter[str] = Counter()

    @contextmanager
    def taken(self, slot: str) -> Iterator[None]:
        """Take a slot of a provider or of `UNTRUSTED` for the block. Raises `NoSlot` at once."""
        with self._lock:
            providers = self._taken.total() - self._taken[UNTRUSTED]
            is_full = slot != UNTRUSTED and providers >= ALL_PROVIDERS
            if is_full or self._taken[slot] >= EACH:
                raise NoSlot
            self._taken[slot] += 1
        try:
            yield
        finally:
            with self._lock:
                self._taken[slot] -= 1
