"""Background tasks of a process, and the cleanup of expired rows."""

from collections.abc import Callable
from typing import Any

from pyramid.events import ApplicationCreated, NewRequest
from pyramid.exceptions import ConfigurationError

from authsite.context import BackgroundTask, Job, Services

from .background import make_jobs, start_jobs


def add_background_task(
    config: Any, name: str, make_job: Callable[[Services], Job] | str, *, enabled: bool | None
) -> None:
    """Directive: run a task on a thread of its own, from the first request until the process ends.

    ``make_job(services)`` returns its `Job`; it may be a dotted name, which is imported for an
    enabled task. ``enabled``: True for every process of the application, False for none, None for
    the workers of ``authsite serve`` alone.
    """
    tasks = config.registry["authsite"].extensions.background_tasks
    if any(task.name == name for task in tasks):
        raise ConfigurationError(f"two background tasks are called {name!r}; rename one")
    tasks.append(BackgroundTask(name, make_job, enabled))


def includeme(config: Any) -> None:
    """``config.add_background_task``, the cleanup, and the subscribers that start the tasks."""
    services = config.registry["authsite"]
    config.add_directive("add_background_task", add_background_task)
    config.add_background_task(
        "cleanup", "authsite.tasks.scheduled_cleanup.make_job", enabled=services.settings.janitor
    )
    config.add_background_task(
        "audit-sealing",
        "authsite.tasks.scheduled_sealing.make_job",
        enabled=services.settings.janitor,
    )
    config.add_subscriber(_make_jobs, ApplicationCreated)
    config.add_subscriber(_start_jobs, NewRequest)


def _make_jobs(event: ApplicationCreated) -> None:
    make_jobs(event.app.registry["authsite"], serve=False)


def _start_jobs(event: NewRequest) -> None:
    """Start the tasks in the process that serves requests.

    uWSGI and ``gunicorn --preload`` fork it from the process that loads the application. Threads do
    not survive a fork, and a lock that one holds at that moment is never released in the child.
    """
    start_jobs(event.request.registry["authsite"])
