"""A bounded thread pool for password hashing: few hashes at once, a short queue, then 503.

Without it 16 concurrent logins raise the median of a guarded request from 0.3 ms to 1.5 s on two
cores.
"""

import os
import sys
import threading
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from queue import Empty, SimpleQueue
from time import monotonic
from typing import TypeVar

from authsite.platform.http.errors import TemporarilyUnavailable
from authsite.platform.i18n import PluralString
from authsite.platform.runtime.cores import usable_cores
from authsite.platform.runtime.counters import HASH_WAITS, HASHES_REJECTED
from authsite.platform.runtime.forks import after_fork
from authsite.platform.runtime.slots import waiting

T = TypeVar("T")

RETRY_AFTER_SECONDS = 2
# At 19 any other load of the machine, guarded requests included, starves logins; at 0 guarded
# requests lose half their rate while users log in (docs/performance-notes.md).
NICENESS = 10
SAFETY_FACTOR = 0.75  # of the timeout, since the predicted wait may be too short


class HashCapacityExceeded(TemporarilyUnavailable):
    """All hash threads are busy, and the queue is full or too slow."""

    message = PluralString(
        "Too many logins at once. Try again in ${count} second.",
        "Too many logins at once. Try again in ${count} seconds.",
        RETRY_AFTER_SECONDS,
    )
    retry_after = RETRY_AFTER_SECONDS

    def __init__(self) -> None:
        super().__init__(self.retry_after)


class WorkTime:
    """Moving average of the seconds that one piece of work takes; 0 before the first."""

    seconds = 0.0

    def add(self, seconds: float) -> None:
        """Add a measurement; of concurrent calls one may be lost."""
        self.seconds = (self.seconds * 3 + seconds) / 4 if self.seconds else seconds


class HashPool:
    """Runs work on ``threads`` threads of low priority; at most ``queue`` callers wait for them.

    ``threads``: default is the number of cores that this process may use. ``timeout``: seconds
    that a caller waits for a thread. A caller whose predicted wait comes near it is rejected at
    once, so the queue is shorter on a slower machine. bcrypt releases the GIL, and on Linux a nice
    value (``niceness``) belongs to one thread: guarded requests get the larger part of a core that
    they share with a hash.

    Work is handed to a thread only when one is free. The queue consists of waiting callers, so a
    process that ends finishes the hashes that run and no others.
    """

    def __init__(
        self,
        threads: int | None = None,
        queue: int = 8,
        timeout: float = 2.0,
        niceness: int = NICENESS,
    ) -> None:
        self._size = threads or usable_cores()
        self.capacity = self._size + queue  # callers at the same time
        self._timeout = timeout
        self._niceness = niceness
        self._start()
        after_fork(self, HashPool._start)

    def _start(self) -> None:
        # The threads start with the first work: threads do not survive a fork.
        self._executor = ThreadPoolExecutor(self._size, "hash", _lower_priority, (self._niceness,))
        self._free_threads: SimpleQueue[None] = SimpleQueue()  # a token for each
        for _thread in range(self._size):
            self._free_threads.put(None)
        self._lock = threading.Lock()
        self.callers = 0
        self._work_time = WorkTime()

    @property
    def waiting(self) -> int:
        """How many callers wait for a thread."""
        return max(0, self.callers - self._size)

    def run(self, work: Callable[[], T]) -> T:
        """What ``work()`` returns or raises.

        Raises `HashCapacityExceeded`: at once if the queue is full or too slow, and if no thread
        becomes free within ``timeout`` seconds.
        """
        with self._lock:
            predicted_wait = self.waiting * self._work_time.seconds / self._size
            if self.callers >= self.capacity or predicted_wait > SAFETY_FACTOR * self._timeout:
                raise _exceeded()
            self.callers += 1
        with waiting():
            try:
                return self._submit(work).result()
            finally:
                with self._lock:
                    self.callers -= 1

    def close(self) -> None:
        """Reject new and waiting callers, and wait until the work that runs has ended."""
        self._executor.shutdown(wait=False)
        self._free_threads.put(None)  # wakes one caller, which wakes the next
        self._executor.shutdown()

    def _submit(self, work: Callable[[], T]) -> Future[T]:
        """Wait for a free thread and hand it ``work``."""
        start = monotonic()
        try:
            self._free_threads.get(timeout=self._timeout)
        except Empty:
            raise _exceeded() from None
        HASH_WAITS.observe(monotonic() - start)
        try:
            return self._executor.submit(self._run, work)
        except RuntimeError:  # the pool is closed, or the process is ending
            self._free_threads.put(None)
            raise _exceeded() from None

    def _run(self, work: Callable[[], T]) -> T:
        start = monotonic()
        try:
            return work()
        finally:
            self._work_time.add(monotonic() - start)
            self._free_threads.put(None)


def _exceeded() -> HashCapacityExceeded:
    HASHES_REJECTED.add()
    return HashCapacityExceeded()


def _lower_priority(niceness: int) -> None:
    """Lower the priority of this thread."""
    if sys.platform == "linux":
        try:
            thread = threading.get_native_id()
            lowered = os.getpriority(os.PRIO_PROCESS, thread) + niceness
            os.setpriority(os.PRIO_PROCESS, thread, min(lowered, 19))
        except OSError:
            return  # a sandbox may forbid it; hashes then have the same priority as requests
