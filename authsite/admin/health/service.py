"""What ``authsite doctor`` finds in the running service, its tasks, queues and versions.

What takes long is not done in a request: providers and the mail server are not asked, and no whole
table of users or tokens is counted. ``authsite doctor --production`` does both.
"""

import platform
from collections.abc import Iterator, Mapping
from datetime import UTC, datetime, timedelta
from importlib.metadata import PackageNotFoundError, version
from typing import Any, NamedTuple

import sqlalchemy
from sqlalchemy import Connection, Select, func, select
from sqlalchemy.exc import SQLAlchemyError

from authsite.checks.database import database_findings
from authsite.checks.features import openid_findings, passkey_findings
from authsite.checks.findings import LENIENT, STRICT, file_findings, rule_findings
from authsite.platform.audit.models import AuditEvent
from authsite.platform.audit.seals.stored import SEALS
from authsite.platform.context import Context, Services
from authsite.platform.db import migrate
from authsite.platform.finding import Finding
from authsite.platform.http.errors import TemporarilyUnavailable
from authsite.platform.mail.outbox import WAITING, OutboxMessage
from authsite.platform.registrations import Registered
from authsite.platform.runtime import clock
from authsite.platform.runtime.cached import Cached
from authsite.platform.runtime.counters import TASK_SUCCESS, counted
from authsite.platform.settings import environment, folder_of
from authsite.platform.tasks.background import NUMBERS

CACHED = timedelta(seconds=60)
MAX_COUNTED = 1000
STATES = ("wrong", "change", "note", "ok")
"""Of findings, the worst first."""


class Task(NamedTuple):
    """A background task: when it last succeeded, in any process; None if it has not yet."""

    name: str
    succeeded_at: datetime | None
    waits_since: datetime


class Queue(NamedTuple):
    """What waits, counted up to `MAX_COUNTED`; None if the database does not answer."""

    name: str
    number: int | None


class Health(NamedTuple):
    """The state of the service at a moment."""

    checked_at: datetime
    findings: tuple[Finding, ...]
    tasks: tuple[Task, ...]
    queues: tuple[Queue, ...]
    versions: Mapping[str, str]

    @property
    def errors(self) -> tuple[Finding, ...]:
        """What has an effect now."""
        return tuple(each for each in self.findings if each.state == "wrong")


HEALTH = Registered[Cached[Health]]("states of the service")


def health(ctx: Context) -> Health:
    """The state of the service, at most a minute old."""
    return HEALTH.of(ctx.services)["health"].get()


def examine(services: Services, ini: Mapping[str, object], *, standalone: bool) -> Health:
    """The state now. ``ini``: the settings of the application; ``standalone``: it is authsite's."""
    found = sorted(_findings(services, ini, standalone), key=lambda each: STATES.index(each.state))
    return Health(
        clock.now(),
        tuple(found),
        tuple(_tasks(services)),
        tuple(_queues(services)),
        _versions(services),
    )


def _findings(services: Services, ini: Mapping[str, object], standalone: bool) -> Iterator[Finding]:
    cfg = services.settings
    yield from file_findings(cfg, ini, environment(folder_of(ini)))
    yield from database_findings(services, counts=False)
    yield from openid_findings(services, standalone=standalone)
    yield from passkey_findings(services, counts=False)
    yield from rule_findings(cfg, STRICT if cfg.production else LENIENT)


def _tasks(services: Services) -> Iterator[Task]:
    numbers = counted()
    for source in NUMBERS.of(services).values():
        try:
            numbers = source(services)
        except TemporarilyUnavailable:
            continue  # another process keeps the lock: the numbers of this one
    for (name,), (success, start) in sorted(numbers.get(TASK_SUCCESS.name, ())):
        yield Task(name, _moment(success) if success else None, _moment(start))


def _moment(seconds: float) -> datetime:
    return datetime.fromtimestamp(seconds, UTC)


def _queues(services: Services) -> Iterator[Queue]:
    sealed = select(func.max(SEALS.c.last_id)).scalar_subquery()
    waiting: dict[str, Select[Any]] = {
        "mails that wait": select(OutboxMessage.id).where(WAITING),
        "mails that failed for good": select(OutboxMessage.id).where(OutboxMessage.state == "dead"),
        "events without a seal": select(AuditEvent.id).where(
            AuditEvent.id > func.coalesce(sealed, 0)
        ),
    }
    for name, query in waiting.items():
        try:
            with services.database.autocommit.connect() as connection:
                yield Queue(name, _count(connection, query))
        except SQLAlchemyError:
            yield Queue(name, None)
    yield Queue("logins that wait for a hash", services.passwords.pool.waiting)


def _count(connection: Connection, query: "Select[Any]") -> int:
    some = query.limit(MAX_COUNTED).subquery()
    return connection.scalar(select(func.count()).select_from(some)) or 0


def _versions(services: Services) -> dict[str, str]:
    found = {"authsite": _version("authsite"), "Python": platform.python_version()}
    found["SQLAlchemy"] = sqlalchemy.__version__
    try:
        with services.database.autocommit.connect() as connection:
            numbers = connection.dialect.server_version_info or ()
            found[connection.dialect.name] = ".".join(map(str, numbers))
        found["schema"] = migrate.state(services.database).revision or "none"
    except SQLAlchemyError:
        pass
    return found


def _version(distribution: str) -> str:
    try:
        return version(distribution)
    except PackageNotFoundError:
        return "unknown"
