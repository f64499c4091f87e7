"""Background tasks of a process, and the cleanup of expired rows."""

from collections.abc import Callable
from typing import TYPE_CHECKING

from pyramid.events import ApplicationCreated, NewRequest
from pyramid.exceptions import ConfigurationError

from authsite.context import BackgroundTask, Job, Services

from .background import make_at_creation, start_at_request

if TYPE_CHECKING:
    from pyramid.config import Configurator


def add_background_task(
    config: "Configurator",
    name: str,
    make_job: Callable[[Services], Job] | str,
    *,
    enabled: bool | None,
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


def includeme(config: "Configurator") -> None:
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
    config.add_subscriber(make_at_creation, ApplicationCreated)
    config.add_subscriber(start_at_request, NewRequest)
