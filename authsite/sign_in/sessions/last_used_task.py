"""The background task that writes when sessions and tokens were used last."""

import threading
from functools import partial

import structlog

from authsite.platform.context import Job, Services
from authsite.platform.db.last_used import LastUsedTracker
from authsite.platform.runtime.counters import TASK_SUCCESS

log = structlog.get_logger("authsite.last_used")

INTERVAL = 60.0  # seconds between two writes
STOP_TIMEOUT = 5.0  # seconds that the last write may take when the process ends


def make_job(services: Services) -> Job:
    """The job that writes the notes of `LastUsedTracker`; requests then write none themselves."""
    tracker, stop = services.last_used, threading.Event()
    tracker.wake = wake = threading.Event()
    return Job(partial(run, tracker, wake, stop), partial(end, wake, stop), STOP_TIMEOUT)


def run(tracker: LastUsedTracker, wake: threading.Event, stop: threading.Event) -> None:
    """Write the notes every minute, when one is urgent, and once more before the end."""
    TASK_SUCCESS.begin("last_used")
    while not stop.is_set():
        wake.wait(INTERVAL)
        wake.clear()
        _write(tracker)
    _write(tracker)  # notes that were made since, also when the task ends before its first wait


def _write(tracker: LastUsedTracker) -> None:
    try:
        if tracker.write():
            TASK_SUCCESS.note("last_used")
    except Exception:  # a bug, too, must not end the thread
        log.exception("last_used_failed")


def end(wake: threading.Event, stop: threading.Event) -> None:
    """Make `run` write for the last time."""
    stop.set()
    wake.set()
