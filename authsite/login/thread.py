"""Writing down what was used, as a thread of a server process."""

import threading
from functools import partial
from typing import Any

import structlog

from authsite import background

from .uses import Uses

log = structlog.get_logger("authsite.uses")

EVERY = 60.0  # seconds between two rounds
LAST_ROUND = 5.0  # seconds that the last one may take when the process ends


def start(registry: Any) -> None:
    """Write the application's notes of use from now on, until the process ends; once is enough."""
    uses: Uses = registry["authsite.uses"]
    if uses.wake is not None:
        return
    uses.wake = wake = threading.Event()
    stop = threading.Event()
    stopping = partial(end, wake, stop)
    background.start("uses", run, uses, wake, stop, end=stopping, patience=LAST_ROUND)


def run(uses: Uses, wake: threading.Event, stop: threading.Event) -> None:
    """Write what was noted every minute, when it is urgent, and once more when it is to end."""
    while not stop.is_set():
        wake.wait(EVERY)
        wake.clear()
        try:
            uses.write()
        except Exception:  # a bug: the thread must not end with it
            log.exception("uses_failed")


def end(wake: threading.Event, stop: threading.Event) -> None:
    """Let it write its last round."""
    stop.set()
    wake.set()
