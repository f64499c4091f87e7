"""What a process does at most once in some time, such as one log line for many equal errors."""

import threading
from datetime import datetime, timedelta

from authsite.platform.runtime import clock


class Seldom:
    """Says once in each ``period`` of this process that it is time."""

    def __init__(self, period: timedelta) -> None:
        self._period = period
        self._last: datetime | None = None
        self._lock = threading.Lock()

    def due(self) -> bool:
        """Whether it is time; then not again for the period. A clock set back does not stop it."""
        now = clock.now()
        with self._lock:
            if self._last is not None and timedelta() <= now - self._last < self._period:
                return False
            self._last = now
            return True
