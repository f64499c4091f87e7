"""A limit on the requests that the threads of a process work on at the same time.

More than a few threads contend for the interpreter lock, which costs a third of the throughput. A
thread that waits for a password hash, for example, releases its slot to another thread.
"""

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from queue import SimpleQueue
from typing import TypeVar

Argument = TypeVar("Argument")
Result = TypeVar("Result")

_held = threading.local()


class Slots:
    """At most ``count`` threads work at the same time; the others wait for a slot."""

    def __init__(self, count: int) -> None:
        # A queue of tokens: a semaphore of the standard library is several times slower.
        self._free: SimpleQueue[None] = SimpleQueue()
        for _ in range(count):
            self._free.put(None)

    def acquire(self) -> None:
        """Wait for a slot and hold it in this thread."""
        self._free.get()
        _held.slots = self

    def release(self) -> None:
        """Release the slot of this thread."""
        _held.slots = None
        self._free.put(None)

    def limit(self, function: Callable[[Argument], Result]) -> Callable[[Argument], Result]:
        """``function``, which waits for a slot and holds it while it runs."""

        def limited(argument: Argument) -> Result:
            self.acquire()
            try:
                return function(argument)
            finally:
                self.release()

        return limited


@contextmanager
def waiting() -> Iterator[None]:
    """During a slow wait, release the slot of this thread, if it has one."""
    slots: Slots | None = getattr(_held, "slots", None)
    if slots is None:
        yield
        return
    slots.release()
    try:
        yield
    finally:
        slots.acquire()
