"""Run background tasks on threads, which end with their process, and log their errors."""

import fcntl
import os
import threading
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, suppress
from dataclasses import dataclass
from enum import Enum
from functools import partial
from multiprocessing.util import Finalize

import structlog
from pyramid.events import ApplicationCreated, NewRequest
from pyramid.path import DottedNameResolver
from sqlalchemy import Connection, func, select
from sqlalchemy.exc import SQLAlchemyError
from sqlalchemy.orm import Session
from structlog.typing import FilteringBoundLogger

from authsite.platform.context import Context, Job, Services
from authsite.platform.db import Database
from authsite.platform.db.engine import behind_pooler
from authsite.platform.db.standbys import Standbys
from authsite.platform.http.request_info import RequestInfo
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


# Locks between all processes on one database: one leader, and one cleanup at a time.
#
# On PostgreSQL these are session-level advisory locks, or behind a pooler those of a transaction
# that stays open; on SQLite locked files beside the database. The operating system or the server
# releases them when the process ends, also after a crash.


class Lock(Enum):
    """A lock: the number of the advisory lock, and the suffix of the file.

    Migrations have the number 7165218, and `oauth.clients.service.wait_for_others` has 7165221.
    """

    LEADER = 7165219, "duty"  # held by the process that cleans up every hour
    CLEANUP = 7165220, "round"  # held during a cleanup by the leader or `authsite purge`
    SEALING = 7165222, "sealing"  # held by the process that seals the audit trail
    SIGNING_KEYS = 7165223, "keys"  # held by the process that makes or rotates signing keys

    def __init__(self, number: int, suffix: str) -> None:
        self.number, self.suffix = number, suffix


@contextmanager
def own_connection(database: Database) -> Iterator[Connection]:
    """A connection in AUTOCOMMIT, outside the pool, so that closing it releases its locks."""
    with database.autocommit.connect() as connection:
        connection.detach()
        yield connection


def held(connection: Connection, lock: Lock) -> AbstractContextManager[bool]:
    """Try to hold ``lock`` for the block, without waiting; yields whether it is held."""
    if connection.dialect.name == "sqlite":
        return _hold_file(connection, lock)
    hold = _hold_in_transaction if behind_pooler(connection) else _hold_in_session
    return hold(connection, lock)


@contextmanager
def _hold_in_session(connection: Connection, lock: Lock) -> Iterator[bool]:
    acquired = bool(connection.scalar(select(func.pg_try_advisory_lock(lock.number))))
    try:
        yield acquired
    finally:
        if acquired:
            with suppress(SQLAlchemyError):  # a lost connection holds no lock
                connection.execute(select(func.pg_advisory_unlock(lock.number)))


@contextmanager
def _hold_in_transaction(connection: Connection, lock: Lock) -> Iterator[bool]:
    with connection.engine.connect() as holder:
        holder.detach()
        holder.exec_driver_sql("BEGIN")  # the connection is in AUTOCOMMIT
        holder.exec_driver_sql("SET LOCAL idle_in_transaction_session_timeout = 0")
        acquired = bool(holder.scalar(select(func.pg_try_advisory_xact_lock(lock.number))))
        if not acquired:
            holder.exec_driver_sql("ROLLBACK")
        yield acquired


@contextmanager
def _hold_file(connection: Connection, lock: Lock) -> Iterator[bool]:
    database = connection.engine.url.database
    if not database or database == ":memory:":
        yield True  # no other process has this database
        return
    # The file stays: a process that deleted it could delete one that another has just opened.
    file = os.open(f"{database}-{lock.suffix}", os.O_CREAT | os.O_RDWR, 0o600)
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        acquired = True
    except BlockingIOError:
        acquired = False
    try:
        yield acquired
    finally:
        os.close(file)


# The transaction of a background task, which is of no request.


@contextmanager
def transaction(services: Services) -> Iterator[Context]:
    """A context without a request, whose transaction is committed at the end."""
    settings = services.settings
    info = RequestInfo(None, "authsite", None, settings.base_url, settings.languages[0])
    with (
        Session(services.database.transactional, expire_on_commit=False) as db,
        db.begin(),
    ):
        yield Context(services, lambda: info, lambda: db)


# The background task that writes heartbeats, with `database-read-url` (`platform.db.standbys`).


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
