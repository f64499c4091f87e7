"""The session of a request, and its transaction."""

import threading
import weakref
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress

from sqlalchemy import Connection, event
from sqlalchemy.exc import SQLAlchemyError
from sqlalchemy.orm import Session
from zope.sqlalchemy.datamanager import STATUS_CHANGED, join_transaction

from authsite.platform.registrations import Registered
from authsite.platform.request_state import Request

from .engine import without_time_limit

READING_PATHS = Registered[str]("paths that read")
"""Paths whose POST writes nothing in the request's transaction."""


_thread = threading.local()


class RequestSession(Session):
    """A session that commits and rolls back with the transaction manager in its ``info``."""


@event.listens_for(RequestSession, "after_begin")
@event.listens_for(RequestSession, "after_attach")
def _join(session: Session, *_arguments: object) -> None:
    # `zope.sqlalchemy.register` would add seven listeners to the session of every request, which
    # find out whether something was written. Our session joins as changed from the start: Core's
    # statements, which those listeners do not see, are committed like all others.
    join_transaction(session, STATUS_CHANGED, session.info["tm"])
    _thread.session = weakref.ref(session)


def is_open_in_thread() -> bool:
    """Whether this thread has a request's transaction in which something was read or written."""
    latest = getattr(_thread, "session", None)
    session: Session | None = latest() if latest else None
    return session is not None and session.in_transaction()


def request_session(request: Request) -> Session:
    """A session that commits and rolls back with ``request.tm``.

    A request that only reads has no transaction: its session is in AUTOCOMMIT, takes no lock and
    is closed with the request. Raises `RuntimeError` where a request that may write has no
    transaction: what is written would be lost.
    """
    if "tm.active" not in request.environ:
        if not needs_transaction(request):
            db = Session(request.authsite.database.autocommit)
            request.add_finished_callback(lambda _request: db.close())
            return db
        raise RuntimeError(
            "authsite has no transaction to write in: let pyramid_tm act on every POST, PUT, PATCH"
            " and DELETE of authsite's routes (tm.activate_hook)"
        )
    return RequestSession(
        request.authsite.database.transactional, expire_on_commit=False, info={"tm": request.tm}
    )


def needs_transaction(request: Request) -> bool:
    """Whether a request gets a separate transaction (pyramid_tm's activate hook).

    A request that reads needs none: by its method, or a POST to one of the paths that a package has
    registered (`READING_PATHS`). A GET view that has to write uses `transaction`.
    """
    # The environ: faster than `request.method`.
    if request.environ["REQUEST_METHOD"] in ("GET", "HEAD", "OPTIONS"):
        return False
    reading_paths = READING_PATHS.of(request.registry["authsite"])
    return request.environ["PATH_INFO"] not in reading_paths.values()


@contextmanager
def transaction(request: Request) -> Iterator[None]:
    """Run the block in the request's transaction, or in a new one if the request has none."""
    if "tm.active" in request.environ:
        yield
        return
    request.tm.begin()
    request.environ["tm.active"] = True
    try:
        yield
    except BaseException:
        request.tm.abort()
        raise
    finally:
        del request.environ["tm.active"]
    request.tm.commit()


def after_commit(session: Session, work: Callable[[], None]) -> None:
    """Call ``work`` after the request's transaction is committed; never if it is rolled back.

    ``session``: the `Context.db` of a request with a transaction.
    """
    session.info["tm"].get().addAfterCommitHook(lambda committed: work() if committed else None)


def commit_and_begin(request: Request) -> None:
    """Commit the request's transaction and begin another one.

    pyramid_tm rolls back after every exception, also if an exception view returned a 4xx response.
    The error view calls this first for an error with `keeps_writes`: a revocation, a counter or an
    audit row stays.
    """
    request.tm.commit()
    request.tm.begin()


def commit_session(session: Session) -> None:
    """As `commit_and_begin`, for a use case, which has the request's `Context.db` alone."""
    if session.in_transaction():
        manager = session.info["tm"]
        manager.commit()
        manager.begin()


def rollback_and_begin(request: Request) -> None:
    """Roll back the request's transaction and begin another one.

    For a view that catches an error and returns a page, after which pyramid_tm would commit.
    """
    request.tm.abort()
    request.tm.begin()


# Transactions on a connection in AUTOCOMMIT, for background tasks and commands.


@contextmanager
def transaction_on(connection: Connection) -> Iterator[None]:
    """Commit the statements of the block together, or none of them."""
    with _block(connection, sqlite="BEGIN IMMEDIATE", postgresql="BEGIN"):
        yield


@contextmanager
def snapshot_on(connection: Connection) -> Iterator[None]:
    """Every statement of the block reads the database as it was when the first one ran.

    It may take long.
    """
    begin = "BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY"
    with _block(connection, sqlite="BEGIN", postgresql=begin):
        without_time_limit(connection)
        yield


@contextmanager
def _block(connection: Connection, *, sqlite: str, postgresql: str) -> Iterator[None]:
    connection.exec_driver_sql(sqlite if connection.dialect.name == "sqlite" else postgresql)
    try:
        yield
    except BaseException:
        with suppress(SQLAlchemyError):  # a lost connection has rolled back
            connection.exec_driver_sql("ROLLBACK")
        raise
    connection.exec_driver_sql("COMMIT")
