"""The background task that writes heartbeats, with `database-read-url` (`platform.db.standbys`)."""

import threading
from functools import partial

import structlog

from authsite.platform.context import Job, Services
from authsite.platform.db.standbys import Standbys

from .background import Attempts

log = structlog.get_logger("authsite.standbys")

STOP_TIMEOUT = 1.0  # seconds


def make_job(services: Services) -> Job:
    """The task of a process with standbys."""
    stop, standbys = threading.Event(), services.standbys
    if standbys is None:
        raise ValueError("there are no standbys: set database-read-url, or leave this task out")
    return Job(partial(run, standbys, stop), stop.set, STOP_TIMEOUT)


def run(standbys: Standbys, stop: threading.Event) -> None:
    """Write heartbeats until ``stop`` is set. Survives every error, and logs each kind once."""
    attempts = Attempts("heartbeat", log)

    def beat() -> None:
        with attempts.attempt():
            standbys.beat()

    with attempts.attempt():
        standbys.delete_ended()
    standbys.run(stop, beat)
