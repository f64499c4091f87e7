"""Count in the memory of this process while the storage of the limits fails.

The limits then hold for each process: the effective limit is at most the configured one times the
number of processes (ASVS 16.5.3).
"""

import threading
from collections.abc import Callable, Mapping, Sequence
from typing import TypeVar, cast

import structlog
from limits.errors import StorageError
from limits.storage import MemoryStorage, Storage

from .storage import Limited, Together, Window, count_together, refund_together

log = structlog.get_logger("authsite.rate_limit")

T = TypeVar("T")
PROBE_SECONDS = 2.0
Failures = tuple[type[Exception], ...]


class LocalStorage(MemoryStorage):
    """The library's counters in memory, with a lock.

    Without the lock, a read that finds no window may delete one that starts concurrently.
    """

    def __init__(self) -> None:
        super().__init__()
        self._lock = threading.RLock()

    def incr(self, key: str, expiry: float, amount: int = 1) -> int:
        """As the library's."""
        with self._lock:
            return super().incr(key, expiry, amount)

    def get(self, key: str) -> int:
        """As the library's."""
        with self._lock:
            return super().get(key)

    def clear(self, key: str) -> None:
        """As the library's."""
        with self._lock:
            super().clear(key)


class FallbackStorage(Together):
    """A storage, and counters in the memory of this process while it fails.

    ``connect`` returns the storage, and is called when it is first used, since the client of a
    Redis cluster connects when it is made. ``failures``: errors of the storage besides
    `StorageError` and `OSError`.

    Only the requests that detect the failure wait for the timeout: after that a separate thread
    checks every ``probe_seconds`` whether the storage works again.
    """

    def __init__(
        self,
        connect: Callable[[], Storage],
        failures: Failures = (),
        probe_seconds: float = PROBE_SECONDS,
    ) -> None:
        super().__init__()
        self._connect, self._connected = connect, cast(Storage | None, None)
        self._failures: Failures = (StorageError, OSError, *failures)
        self._probe_seconds = probe_seconds
        self._switching = threading.Lock()
        self._failed = False
        self._local: Storage | None = None

    @property
    def is_degraded(self) -> bool:
        """Whether this process counts in its own memory because the storage fails."""
        return self._failed

    @property
    def base_exceptions(self) -> tuple[type[Exception], ...]:
        """Empty: every error of the storage is handled here."""
        return ()

    def incr(self, key: str, expiry: int, amount: int = 1) -> int:
        """Add to a count and return it."""
        return self._call(lambda storage: storage.incr(key, expiry, amount))

    def get(self, key: str) -> int:
        """The count."""
        return self._call(lambda storage: storage.get(key))

    def get_expiry(self, key: str) -> float:
        """The end of its window, in seconds since 1970."""
        return self._call(lambda storage: storage.get_expiry(key))

    def read(self, keys: Sequence[str]) -> Mapping[str, Window] | None:
        """The running windows of ``keys``, if the storage in use reads them together."""
        return self._call(
            lambda storage: storage.read(keys) if isinstance(storage, Together) else None
        )

    def count_together(self, windows: Sequence[Limited]) -> int | None:
        """Count one in each window, up to the first one that is full: its place, or None."""
        return self._call(lambda storage: count_together(storage, windows))

    def refund_together(self, windows: Sequence[Limited]) -> None:
        """Undo a count in each window."""
        self._call(lambda storage: refund_together(storage, windows))

    def clear(self, key: str) -> None:
        """Delete the count."""
        self._call(lambda storage: storage.clear(key))

    def reset(self) -> int | None:
        """Delete all counts."""
        return self._call(lambda storage: storage.reset())

    def check(self) -> bool:
        """Whether the storage itself works."""
        return not self._failed

    def _storage(self) -> Storage:
        self._connected = self._connected or self._connect()
        return self._connected

    def _call(self, operation: Callable[[Storage], T]) -> T:
        if not self._failed:
            try:
                return operation(self._connected or self._storage())
            except self._failures as error:
                self._switch_to_local(error)
        return operation(self._local or self._storage())

    def _switch_to_local(self, error: Exception) -> None:
        with self._switching:
            if self._failed:
                return
            self._local = self._local or LocalStorage()
            self._failed = True
        # The type only: the message may contain the URL, and the URL a password.
        cause = type(error.__cause__ or error).__name__
        log.error("limits_storage_failed", cause=cause, fallback="memory of each process")
        threading.Thread(target=self._probe, name="limits-probe", daemon=True).start()

    def _probe(self) -> None:
        pause = threading.Event()
        pause.wait(self._probe_seconds)  # also after a single failure
        while not self._is_working():
            pause.wait(self._probe_seconds)
        with self._switching:
            self._failed = False
        log.info("limits_storage_recovered")

    def _is_working(self) -> bool:
        try:
            self._storage().incr("probe", 1)  # writes must work, not only reads
        except Exception:  # the probe thread must survive any error
            return False
        return True
