"""When to contact a service again that has failed (circuit breaker)."""

from threading import Lock

from . import clock

FIRST_PAUSE = 0.25  # seconds; each further failure doubles it
LONGEST_PAUSE = 4.0
LONGEST_RETRY_AFTER = 30.0


class Breaker:
    """After a failure one request in each pause contacts the service, and the others fail at once.

    ``timeout`` is how long a request may take, in seconds: while one request finds out whether the
    service is back, no other is sent.
    """

    def __init__(self, timeout: float) -> None:
        self._timeout = timeout
        self._lock = Lock()
        self._failures = 0
        self._retry_at = 0.0

    def enter(self) -> float:
        """0 if the service may be contacted now, else the seconds until then."""
        if not self._failures:
            return 0.0
        with self._lock:
            now = clock.monotonic()
            if self._failures and now < self._retry_at:
                return self._retry_at - now
            self._retry_at = now + self._timeout
            return 0.0

    def succeeded(self) -> bool:
        """The service works. Whether it had failed before."""
        if not self._failures:
            return False
        with self._lock:
            recovered, self._failures = self._failures > 0, 0
            return recovered

    def failed(self, retry_after: float | None = None) -> float:
        """The service failed, and may have named a time; the seconds until the next request."""
        with self._lock:
            self._failures += 1
            pause = min(LONGEST_PAUSE, FIRST_PAUSE * 2.0 ** min(self._failures - 1, 10))
            if retry_after is not None:
                pause = max(pause, min(retry_after, LONGEST_RETRY_AFTER))
            self._retry_at = clock.monotonic() + pause
            return pause
