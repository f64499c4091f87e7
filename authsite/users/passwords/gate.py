"""A gate before all that is slow on purpose: few hashes at once, a short line, then refusal.

Without it sixteen logins at once push a guarded request's median from 0.3 ms to 1.5 s on two
cores.
"""

import atexit
import os
import sys
import threading
import weakref
from collections.abc import Callable
from concurrent.futures import Future
from queue import Empty, SimpleQueue
from time import monotonic
from typing import Any, TypeAlias, TypeVar

from authsite.cores import usable_cores
from authsite.http.errors import TemporarilyUnavailable
from authsite.texts import text as _

T = TypeVar("T")
Line: TypeAlias = "SimpleQueue[tuple[Future[Any], Callable[[], Any]] | None]"

RETRY_AFTER_SECONDS = 2
# At 19 whatever else is busy on the machine, guarded requests too, leaves logins hardly anything;
# at 0 guards lose half their rate while people log in (docs/performance.md).
NICENESS = 5
PROBABLY = 0.75  # of the patience: what is reckoned may turn out longer


class HashCapacityExceeded(TemporarilyUnavailable):
    """All hash threads are busy and the line before them is full, or too slow."""

    message = _(
        "Too many logins at once. Try again in %(count)s seconds.", count=RETRY_AFTER_SECONDS
    )
    retry_after = RETRY_AFTER_SECONDS

    def __init__(self) -> None:
        super().__init__(self.retry_after)


class Pace:
    """How long one piece of work takes at the moment, in seconds; 0 before the first."""

    seconds = 0.0

    def note(self, seconds: float) -> None:
        """One more was done. The newer count for more; threads that meet here lose one at worst."""
        self.seconds = (self.seconds * 3 + seconds) / 4 if self.seconds else seconds


class HashGate:
    """Runs work on ``threads`` threads of low priority; at most ``queue`` wait beside them.

    ``threads``: how many at once (default: the cores this process may use). ``patience``: seconds
    after which work that has not begun is given up; what would probably wait that long is not even
    let into the line, so that the machine's speed sets its length. bcrypt lets go of the
    interpreter lock, and on Linux a nice value (``niceness``) belongs to one thread: guarded
    requests get the larger part of a core they share with a hash.
    """

    def __init__(
        self,
        threads: int | None = None,
        queue: int = 8,
        patience: float = 2.0,
        niceness: int = NICENESS,
    ) -> None:
        self._size = threads or usable_cores()
        self._niceness = niceness
        self._queue = queue
        self._patience = patience
        self._begin_empty()
        _gates.add(self)

    def _begin_empty(self) -> None:
        # Threads do not survive a fork: they start with the first work, in the process that has it.
        self._line: Line = SimpleQueue()
        self._places = threading.Semaphore(self._size + self._queue)
        self._pace = Pace()
        self._starting = threading.Lock()
        self._threads: list[threading.Thread] = []
        self._closed = False

    def run(self, work: Callable[[], T]) -> T:
        """What ``work()`` returns or raises.

        Raises ``HashCapacityExceeded``: at once when the line is full or too slow, after
        ``patience`` seconds when the work has not begun by then. Work that has begun is waited for.
        """
        places = self._places
        wait = self._line.qsize() * self._pace.seconds / self._size
        too_slow = wait > PROBABLY * self._patience
        if self._closed or too_slow or not places.acquire(blocking=False):
            raise HashCapacityExceeded
        future: Future[T] = Future()
        try:
            self._start()
            self._line.put((future, work))
            try:
                return future.result(self._patience)
            except TimeoutError:
                if future.cancel():
                    raise HashCapacityExceeded from None
                return future.result()
        finally:
            places.release()

    def close(self) -> None:
        """Refuse new work, drop what waits, and wait for what runs."""
        with self._starting:
            self._closed = True
        try:
            while waiting := self._line.get_nowait():
                if waiting[0].set_running_or_notify_cancel():
                    waiting[0].set_exception(HashCapacityExceeded())
        except Empty:
            pass
        for _thread in self._threads:
            self._line.put(None)
        for thread in self._threads:
            thread.join()

    def _start(self) -> None:
        with self._starting:
            while len(self._threads) < self._size and not self._closed:
                name = f"hash-{len(self._threads)}"
                # Daemons, so that an idle gate never keeps a process from ending.
                args = (self._line, self._pace, self._niceness)
                thread = threading.Thread(target=_serve, args=args, name=name, daemon=True)
                thread.start()
                self._threads.append(thread)


def _serve(line: Line, pace: Pace, niceness: int) -> None:
    _step_back(niceness)
    while waiting := line.get():
        future, work = waiting
        if future.set_running_or_notify_cancel():
            began = monotonic()
            try:
                future.set_result(work())
            except BaseException as error:  # a panic of the Rust below is no Exception
                future.set_exception(error)
            pace.note(monotonic() - began)
        del waiting, future, work  # an idle thread holds on to nobody's password


def _step_back(niceness: int) -> None:
    if sys.platform == "linux":
        try:
            thread = threading.get_native_id()
            lower = os.getpriority(os.PRIO_PROCESS, thread) + niceness
            os.setpriority(os.PRIO_PROCESS, thread, min(lower, 19))
        except OSError:
            return  # a sandbox may forbid it; the gate works without, only less politely


def _begin_empty_after_fork() -> None:
    for gate in list(_gates):
        gate._begin_empty()


def _close_all() -> None:
    # A daemon thread that comes back from bcrypt while the interpreter is being taken down aborts
    # the process (before Python 3.14), so running work is waited for.
    for gate in list(_gates):
        gate.close()


_gates: "weakref.WeakSet[HashGate]" = weakref.WeakSet()
atexit.register(_close_all)
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_begin_empty_after_fork)
