"""Background tasks of a process, and the cleanup of expired rows."""

from collections.abc import Callable, Iterator
from datetime import datetime
from typing import TYPE_CHECKING

from pyramid.events import ApplicationCreated, NewRequest
from sqlalchemy import Connection

from authsite.platform.context import Job, Services
from authsite.platform.db.batches import Batch
from authsite.platform.settings import Settings

from .background import BACKGROUND_TASKS, BackgroundTask, make_at_creation, start_at_request
from .cleanup import CLEANUPS, Cleanup

if TYPE_CHECKING:
    from pyramid.config import Configurator


def add_background_task(
    config: "Configurator",
    name: str,
    make_job: Callable[[Services], Job] | str,
    *,
    enabled: bool | None,
) -> None:
    """Directive: run a task on a separate thread, from the first request until the process ends.

    ``make_job(services)`` returns its `Job`; it may be a dotted name, which is imported for an
    enabled task. ``enabled``: True for every process of the application, False for none, None for
    the workers of ``authsite serve`` alone.
    """
    BACKGROUND_TASKS.add(config, BackgroundTask(name, make_job, enabled), name)


def add_cleanup(
    config: "Configurator",
    name: str,
    label: str,
    batches: Callable[[Connection, datetime, Settings], Iterator[Batch]],
    *,
    when: str,
) -> None:
    """Directive: ``batches(connection, now, settings)`` deletes old rows, one batch at a time.

    It runs every hour, and in ``authsite purge``, which knows the cleanups that packages of
    authsite register, whatever the settings say. ``name`` is for the log and for scripts, ``label``
    for people, and ``when`` says which rows are deleted. ``connection`` is in AUTOCOMMIT.
    """
    CLEANUPS.add(config, Cleanup(name, label, when, batches), name)


def includeme(config: "Configurator") -> None:
    """The directives, the tasks of this package, and the subscribers that start all tasks."""
    services = config.registry["authsite"]
    config.add_directive("add_background_task", add_background_task)
    config.add_directive("add_cleanup", add_cleanup)
    config.add_background_task(
        "cleanup",
        "authsite.platform.tasks.cleanup.make_job",
        enabled=services.settings.janitor,
    )
    config.add_background_task(
        "heartbeats",
        "authsite.platform.tasks.background.make_job",
        enabled=services.standbys is not None,
    )
    config.add_subscriber(make_at_creation, ApplicationCreated)
    config.add_subscriber(start_at_request, NewRequest)
