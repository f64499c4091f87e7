"""The request's session, and the way to keep writes although the answer is an error."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from sqlalchemy import event
from sqlalchemy.orm import Session
from zope.sqlalchemy.datamanager import STATUS_CHANGED, join_transaction


class RequestSession(Session):
    """A session that commits and rolls back with the transaction manager in its ``info``."""


@event.listens_for(RequestSession, "after_begin")
@event.listens_for(RequestSession, "after_attach")
def _join(session: Session, *_what: Any) -> None:
    # `zope.sqlalchemy.register` would hang seven listeners onto the session of every request. As
    # changed from the start: it need not find out whether something was written, and Core's
    # statements, of which it would not hear, are committed like all others.
    join_transaction(session, STATUS_CHANGED, session.info["tm"])


def session(request: Any) -> Session:
    """A session that commits and rolls back with ``request.tm``."""
    return RequestSession(request.database.writer, expire_on_commit=False, info={"tm": request.tm})


def writes(request: Any) -> bool:
    """Whether a request gets a transaction of its own (pyramid_tm's activate hook).

    Reading needs none; what has to write on a GET says so with `own_transaction`.
    """
    return request.method not in ("GET", "HEAD", "OPTIONS")


@contextmanager
def own_transaction(request: Any) -> Iterator[None]:
    """A transaction around the block, where the request has none yet."""
    if "tm.active" in request.environ:
        yield
        return
    request.tm.begin()
    try:
        yield
    except BaseException:
        request.tm.abort()
        raise
    request.tm.commit()


def reading(request: Any) -> Session:
    """A session that only reads, in AUTOCOMMIT: it takes no lock and joins no transaction."""
    db = Session(request.database.reader)
    request.add_finished_callback(lambda _request: db.close())
    return db


def keep_writes(request: Any) -> None:
    """Commit what was written so far; the request goes on in a new transaction.

    pyramid_tm rolls back whenever an exception was raised, even if an exception view made a
    4xx of it. A door that has to answer with an error *and* keep a revocation, a counter or an
    audit row calls this first. Also called before a password is hashed, to hold no lock.
    """
    request.tm.commit()
    request.tm.begin()


def forget_writes(request: Any) -> None:
    """Roll back what was written so far; the request goes on in a new transaction.

    For a door that turns an error into a page itself, which pyramid_tm would take for success.
    """
    request.tm.abort()
    request.tm.begin()
