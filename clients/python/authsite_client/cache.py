"""The cache of active tokens, and the requests for tokens that are under way."""

from concurrent.futures import Future
from hashlib import blake2b
from threading import Lock
from typing import NamedTuple

from . import clock
from .identity import Identity


class Outage(NamedTuple):
    """authsite could not be asked; ``pause`` is the time in seconds until the next request."""

    pause: float


Outcome = Identity | Outage | None  # None: the token is not active
Flight = Future[Outcome]


def key_of(token: str) -> bytes:
    """What stands for a token in memory, so that a dump of the cache opens nothing."""
    return blake2b(token.encode()).digest()


class _Entry(NamedTuple):
    identity: Identity
    until: float  # monotonic
    exp: float


class IdentityCache:
    """At most ``size`` identities, each for ``seconds`` and never beyond its token's expiry.

    Only active tokens are stored. Made-up tokens would displace them, and authsite rejects those
    without a query.
    """

    def __init__(self, seconds: float, size: int) -> None:
        self._seconds = seconds
        self._size = size
        self._lock = Lock()
        self._entries: dict[bytes, _Entry] = {}
        self._flights: dict[bytes, Flight] = {}

    def find(self, key: bytes) -> Identity | None:
        """The cached identity. Takes no lock: reading a dict is atomic."""
        entry = self._entries.get(key)
        if entry and clock.monotonic() < entry.until and clock.time() < entry.exp:
            return entry.identity
        return None

    def join(self, key: bytes) -> tuple[Flight, bool]:
        """The one request for this token (single flight), and whether the caller has to make it.

        The caller that makes it ends with `finish`.
        """
        with self._lock:
            flight = self._flights.get(key)
            if flight:
                return flight, False
            flight = Flight()
            flight.set_running_or_notify_cancel()  # no waiting task can cancel it from here on
            cached = self.find(key)
            if cached:  # by a request that ended between `find` and here
                flight.set_result(cached)
                return flight, False
            self._flights[key] = flight
            return flight, True

    def finish(self, key: bytes, outcome: Outcome, since: float) -> None:
        """Hand ``outcome`` to all who wait for it.

        It may be used for ``seconds`` from ``since`` on, when the request began.
        """
        with self._lock:
            flight = self._flights.pop(key)
            try:
                if isinstance(outcome, Identity):
                    self._store(key, outcome, since)
            finally:  # whatever happens, no thread waits for ever
                flight.set_result(outcome)

    def _store(self, key: bytes, identity: Identity, since: float) -> None:
        if not self._seconds:
            return
        self._entries.pop(key, None)
        while len(self._entries) >= self._size:
            del self._entries[next(iter(self._entries))]  # the oldest, so the first to expire
        exp = float("inf") if identity.exp is None else float(identity.exp)
        self._entries[key] = _Entry(identity, since + self._seconds, exp)
