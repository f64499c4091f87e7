"""Run background tasks on threads, which end with their process, and log their errors."""

import os
import threading
from collections.abc import Callable
from dataclasses import dataclass
from multiprocessing.util import Finalize

from pyramid.events import ApplicationCreated, NewRequest
from pyramid.path import DottedNameResolver
from sqlalchemy.exc import SQLAlchemyError
from structlog.typing import FilteringBoundLogger

from authsite.context import Job, Services
from authsite.platform.registrations import Registered


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


def log_failure(log: FilteringBoundLogger, event: str, error: Exception, last_error: str) -> str:
    """Log ``event`` unless ``error`` is of the type ``last_error``; return the name of its type.

    For a task that goes on after every error. One of the database needs no traceback; any other is
    a bug.
    """
    kind = type(error).__name__
    if kind != last_error:
        cause = {} if isinstance(error, SQLAlchemyError) else {"exc_info": error}
        log.warning(event, reason=kind, **cause)
    return kind
