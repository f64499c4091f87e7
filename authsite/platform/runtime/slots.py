"""A limit on the requests that the threads of a process work on at the same time.

More than a few threads contend for the interpreter lock, which costs a third of the throughput. A
thread that waits for a password hash, for example, lets another thread work during the wait.
"""

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from queue import Empty, SimpleQueue
from typing import Generic, TypeVar

THREADS = 16
"""Threads of a worker for requests with a body: most of them wait, such as for a password hash."""

Item = TypeVar("Item")

_thread = threading.local()


class _Returning(threading.Event):
    """In the queue: a thread that has waited, and needs a slot to go on."""


class WorkQueue(Generic[Item]):
    """Work for threads, of which at most ``active`` work at the same time.

    A thread keeps its slot from one item to the next: passing the slot to another thread after each
    item would cost a context switch.
    """

    def __init__(self, active: int) -> None:
        self._items: SimpleQueue[Item | _Returning] = SimpleQueue()
        # A queue of tokens: a semaphore of the standard library is several times slower.
        self._slots: SimpleQueue[None] = SimpleQueue()
        for _ in range(active):
            self._slots.put(None)

    def put(self, item: Item) -> None:
        """Add an item."""
        self._items.put(item)

    def work(self, handle: Callable[[Item], None]) -> None:
        """Call ``handle`` with one item after the other; for ever, in each thread that works."""
        _thread.queue = self
        while True:
            self._slots.get()
            while self._handle_next(handle):
                pass

    def leave(self) -> None:
        """Let another thread work instead of this one."""
        self._slots.put(None)

    def come_back(self) -> None:
        """Wait until this thread may go on."""
        try:
            self._slots.get_nowait()
        except Empty:  # in turn with the items, so that they cannot delay it for ever
            returning = _Returning()
            self._items.put(returning)
            returning.wait()

    def _handle_next(self, handle: Callable[[Item], None]) -> bool:
        """Handle an item; or pass the slot on, and return False.

        The item is local to this call, so a thread that waits for the next one keeps nothing of it.
        """
        item = self._items.get()
        if isinstance(item, _Returning):
            item.set()
            return False
        handle(item)
        return True


@contextmanager
def waiting() -> Iterator[None]:
    """During a slow wait, let another thread work if this one belongs to a `WorkQueue`."""
    queue: WorkQueue[object] | None = getattr(_thread, "queue", None)
    if queue is None:
        yield
        return
    _thread.queue = None
    queue.leave()
    try:
        yield
    finally:
        queue.come_back()
        _thread.queue = queue
