"""Run background tasks on threads, which end with their process, and log their errors."""

import os
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from multiprocessing.util import Finalize

from pyramid.events import ApplicationCreated, NewRequest
from pyramid.path import DottedNameResolver
from sqlalchemy.exc import SQLAlchemyError
from structlog.typing import FilteringBoundLogger

from authsite.platform.context import Job, Services
from authsite.platform.registrations import Registered
from authsite.platform.runtime.counters import TASK_SUCCESS, Values


@dataclass(slots=True)
class BackgroundTask:
    """What ``config.add_background_task`` registers; see there."""

    name: str
    make_job: Callable[[Services], Job] | str
    enabled: bool | None
    job: Job | None = None
    """Made when the application is created, if the task is enabled."""
    process: int | None = None
    """The id of the process that runs the job."""


BACKGROUND_TASKS = Registered[BackgroundTask]("background tasks")
NUMBERS = Registered[Callable[[Services], Values]]("sources of numbers")
"""What returns the counted numbers of all processes that share them, if anything does."""
_starting = threading.Lock()


def make_jobs(services: Services, *, serve: bool) -> None:
    """Make the jobs of the enabled tasks; ``serve``: in a worker of ``authsite serve``.

    It may be called again, since a host may build its WSGI application more than once.
    """
    resolver = DottedNameResolver()
    for task in BACKGROUND_TASKS.of(services).values():
        enabled = serve if task.enabled is None else task.enabled
        if enabled and task.job is None:
            task.job = resolver.maybe_resolve(task.make_job)(services)


def start_jobs(services: Services) -> None:
    """Start the jobs that were made and do not run in this process."""
    process = os.getpid()
    for task in BACKGROUND_TASKS.of(services).values():
        if task.job and task.process != process:
            with _starting:
                runs, task.process = task.process == process, process
            if not runs:
                _start_thread(task.name, task.job)


def make_at_creation(event: ApplicationCreated) -> None:
    """Subscriber: `make_jobs` of an application."""
    make_jobs(event.app.registry["authsite"], serve=False)


def start_at_request(event: NewRequest) -> None:
    """Subscriber: start the tasks in the process that serves requests.

    uWSGI and ``gunicorn --preload`` fork it from the process that loads the application. Threads do
    not survive a fork, and a lock that one holds at that moment is never released in the child.
    """
    start_jobs(event.request.registry["authsite"])


def _start_thread(name: str, job: Job) -> None:
    thread = threading.Thread(target=job.run, name=f"authsite-{name}", daemon=True)
    thread.start()
    # Not atexit: a worker that its server has forked ends without it.
    Finalize(None, _stop, args=(job, thread), exitpriority=1)


def _stop(job: Job, thread: threading.Thread) -> None:
    job.stop()
    thread.join(job.stop_timeout)


class Attempts:
    """The attempts of a task that goes on after every error.

    The log has ``<name>_failed`` once for each type of error, and ``<name>_recovered`` after it. An
    error of the database needs no traceback; any other is a bug. ``/metrics`` has the time of the
    last success.
    """

    def __init__(self, name: str, log: FilteringBoundLogger) -> None:
        self._name, self._log = name, log
        self.error = ""
        """The type of the error of the last attempt; empty if it succeeded."""
        TASK_SUCCESS.begin(name)

    @contextmanager
    def attempt(self) -> Iterator[None]:
        """Suppress and log the errors of the block: the thread must not end with one."""
        try:
            yield
        except Exception as error:
            kind = type(error).__name__
            if kind != self.error:
                cause = {} if isinstance(error, SQLAlchemyError) else {"exc_info": error}
                self._log.warning(f"{self._name}_failed", reason=kind, **cause)
            self.error = kind
        else:
            if self.error:
                self._log.info(f"{self._name}_recovered")
            self.error = ""
            TASK_SUCCESS.note(self._name)
