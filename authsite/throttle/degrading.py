"""What happens when the storage of the limits is away: counting goes on in this process.

Neither open nor closed: every process counts for itself, so a limit trips at the latest after its
value times the number of processes (ASVS 16.5.3).
"""

import threading
from collections.abc import Callable
from typing import TypeVar

import structlog
from limits.errors import StorageError
from limits.storage import MemoryStorage, Storage

log = structlog.get_logger("authsite.throttle")

T = TypeVar("T")
PROBE_SECONDS = 2.0
_AWAY = (StorageError, OSError)


class LocalStorage(MemoryStorage):
    """The library's own counters in memory, one step at a time.

    In the library's, a reader that finds no window may throw away one that begins just then.
    """

    def __init__(self) -> None:
        super().__init__()
        self._one_at_a_time = threading.RLock()

    def incr(self, key: str, expiry: float, amount: int = 1) -> int:
        """As the library's."""
        with self._one_at_a_time:
            return super().incr(key, expiry, amount)

    def get(self, key: str) -> int:
        """As the library's."""
        with self._one_at_a_time:
            return super().get(key)

    def clear(self, key: str) -> None:
        """As the library's."""
        with self._one_at_a_time:
            super().clear(key)


class DegradingStorage(Storage):
    """``storage``, and counters in this process while it fails.

    The request that meets the failure pays for it; after that nobody does: a thread of its own
    asks every ``probe_seconds`` whether the storage is back.
    """

    STORAGE_SCHEME = None

    def __init__(self, storage: Storage, probe_seconds: float = PROBE_SECONDS) -> None:
        super().__init__()
        self._storage = storage
        self._probe_seconds = probe_seconds
        self._changing = threading.Lock()
        self._away = False
        self._spare: Storage | None = None

    @property
    def degraded(self) -> bool:
        """Whether this process counts for itself at the moment (for the metrics)."""
        return self._away

    @property
    def base_exceptions(self) -> tuple[type[Exception], ...]:
        """Nothing gets through."""
        return ()

    def incr(self, key: str, expiry: int, amount: int = 1) -> int:
        """Add to a count and return it."""
        return self._ask(lambda storage: storage.incr(key, expiry, amount))

    def get(self, key: str) -> int:
        """The count."""
        return self._ask(lambda storage: storage.get(key))

    def get_expiry(self, key: str) -> float:
        """When its window ends, in seconds since 1970."""
        return self._ask(lambda storage: storage.get_expiry(key))

    def clear(self, key: str) -> None:
        """Forget the count."""
        self._ask(lambda storage: storage.clear(key))

    def reset(self) -> int | None:
        """Forget all counts."""
        return self._ask(lambda storage: storage.reset())

    def check(self) -> bool:
        """Whether the storage itself is there."""
        return not self._away

    def _ask(self, question: Callable[[Storage], T]) -> T:
        if not self._away:
            try:
                return question(self._storage)
            except _AWAY as error:
                self._go_on_alone(error)
        return question(self._spare or self._storage)

    def _go_on_alone(self, error: Exception) -> None:
        with self._changing:
            if self._away:
                return
            self._spare = self._spare or LocalStorage()
            self._away = True
        # Type only: the words may carry the address, and the address a password.
        cause = type(error.__cause__ or error).__name__
        log.error("limits_storage_failed", cause=cause, now="each process counts for itself")
        threading.Thread(target=self._wait_for_it, name="limits-probe", daemon=True).start()

    def _wait_for_it(self) -> None:
        pause = threading.Event()
        pause.wait(self._probe_seconds)  # also a storage that fails now and then gets its rest
        while not self._is_back():
            pause.wait(self._probe_seconds)
        with self._changing:
            self._away = False
        log.info("limits_storage_back")

    def _is_back(self) -> bool:
        try:
            self._storage.incr("probe", 1)  # it must take a write, not only answer
        except Exception:  # whatever it is, it must not end the thread that looks for the end of it
            return False
        return True
