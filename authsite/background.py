"""Threads that work beside the requests of a process, and are let end with it."""

import threading
from collections.abc import Callable
from multiprocessing.util import Finalize
from typing import Any


def start(
    name: str, work: Callable[..., None], *arguments: Any, end: Callable[[], None], patience: float
) -> None:
    """Run ``work(*arguments)`` on a thread of its own.

    When the process ends, ``end()`` tells it to stop, and it is waited for, up to ``patience``
    seconds.
    """
    thread = threading.Thread(target=work, args=arguments, name=f"authsite-{name}", daemon=True)
    thread.start()
    # Not atexit: a worker that its server has forked ends without it.
    Finalize(None, wind_up, args=(end, thread, patience), exitpriority=1)


def wind_up(end: Callable[[], None], thread: threading.Thread, patience: float) -> None:
    """Tell ``thread`` to stop, and wait for it."""
    end()
    thread.join(patience)
