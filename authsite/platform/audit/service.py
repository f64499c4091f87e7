"""Write and search the audit trail."""

import uuid
from collections.abc import Callable, Mapping, Sequence
from datetime import datetime
from hashlib import sha256
from typing import Any, Literal, NamedTuple, TypedDict, Unpack, cast

from sqlalchemy import ColumnElement, Connection, Table, bindparam, func, insert, select
from sqlalchemy.orm import Session
from structlog import get_logger

from authsite.platform.context import Context
from authsite.platform.db import NoRow, PreparedQuery
from authsite.platform.db.base import database_now
from authsite.platform.http.errors import ApiError
from authsite.platform.request_state import Request

from .events import Event
from .models import AuditEvent, Detail

RECORDED = "authsite.recorded"  # in the `info` of a session that has recorded an event
# The table, not the class: the ORM's overhead for one row equals the cost of the insert.
_TABLE = cast(Table, AuditEvent.__table__)
# The time is that of the database's clock, which all processes have in common.
_INSERT = insert(_TABLE).values(at=database_now())


class About(TypedDict, total=False):
    """What an event is about.

    ``details`` contains ids and reasons, never a password, a token or an unknown caller's address
    (ASVS 16.2.5). A login name without an account is stored as its `pseudonym`.
    """

    user_id: uuid.UUID | None
    client_id: uuid.UUID | None
    details: Mapping[str, Detail] | None


def record(
    ctx: Context,
    event: Event,
    **about: Unpack[About],
) -> None:
    """Record ``event`` in the transaction of its cause."""
    values = event_values(ctx, event, **about)
    ctx.db.connection().execute(_INSERT, values)
    ctx.db.info[RECORDED] = True


def record_all(ctx: Context, event: Event, causes: Sequence[About]) -> None:
    """`record` for several causes, in few statements."""
    rows = [event_values(ctx, event, **about) for about in causes]
    if rows:
        ctx.db.connection().execute(_INSERT, rows)
        ctx.db.info[RECORDED] = True


def record_apart(ctx: Context, event: Event, **about: Unpack[About]) -> None:
    """Record ``event`` in a separate transaction, since that of a denied request is rolled back.

    On SQLite the caller must not hold the write lock.
    """
    values = event_values(ctx, event, **about)
    with ctx.database.autocommit.connect() as connection:
        connection.execute(_INSERT, values)


def record_by_task(connection: Connection, event: Event, causes: Sequence[About]) -> None:
    """Record what a background task has done, which is of no request, on its ``connection``."""
    no_request = {"address": None, "agent": None, "request_id": None}
    rows = [
        {
            "event": str(event),
            "user_id": about.get("user_id"),
            "client_id": about.get("client_id"),
            "details": about.get("details"),
            **no_request,
        }
        for about in causes
    ]
    if rows:
        connection.execute(_INSERT, rows)


def recording_if(condition: ColumnElement[bool]) -> PreparedQuery[NoRow]:
    """A query that records an event if ``condition`` is true.

    Its parameters are those of `event_values`, and those of the condition.
    """
    columns = [column for column in _TABLE.columns if column.name not in ("id", "at")]
    parameters = [bindparam(column.name, type_=column.type) for column in columns]
    row = select(database_now(), *parameters).where(condition)
    return PreparedQuery(insert(_TABLE).from_select([_TABLE.c.at, *columns], row), NoRow)


def event_values(ctx: Context, event: Event, **about: Unpack[About]) -> dict[str, Any]:
    """The values of one row, as in `record`; the database adds id and time."""
    info = ctx.request_info
    return {
        "event": str(event),
        "user_id": about.get("user_id"),
        "client_id": about.get("client_id"),
        "address": info.address,
        "agent": info.agent,
        "request_id": info.request_id,
        "details": about.get("details"),
    }


def pseudonym(text: str) -> str:
    """A short hash of ``text``: events about the same unknown name have the same pseudonym."""
    return sha256(text.encode(errors="replace")).hexdigest()[:16]


class Found(NamedTuple):
    """Some events, and how many there are in all."""

    events: Sequence[AuditEvent]
    total: int


class Filter(NamedTuple):
    """Which events to find: those that agree with every value given."""

    user_id: uuid.UUID | None = None
    client_id: uuid.UUID | None = None
    request_id: str | None = None
    address: str | None = None
    event: str | None = None
    """A name, or the beginning of names: ``login`` finds ``login.failed``."""
    events: Sequence[Event] = ()
    """If there are any, only these."""
    since: datetime | None = None
    until: datetime | None = None
    """Only events before this moment."""
    after_id: int | None = None
    """Only events with a larger id."""


def conditions_of(wanted: Filter) -> list[ColumnElement[bool]]:
    """What is true of the events that ``wanted`` finds."""
    columns = {
        AuditEvent.user_id: wanted.user_id,
        AuditEvent.client_id: wanted.client_id,
        AuditEvent.request_id: wanted.request_id,
        AuditEvent.address: wanted.address,
    }
    conditions = [column == value for column, value in columns.items() if value is not None]
    if wanted.event:
        conditions.append(AuditEvent.event.startswith(wanted.event, autoescape=True))
    if wanted.events:
        conditions.append(AuditEvent.event.in_(wanted.events))
    if wanted.after_id is not None:
        conditions.append(AuditEvent.id > wanted.after_id)
    if wanted.since:
        conditions.append(AuditEvent.at >= wanted.since)
    if wanted.until:
        conditions.append(AuditEvent.at < wanted.until)
    return conditions


def search(db: Session, wanted: Filter, limit: int) -> Found:
    """Up to ``limit`` events, the latest ones, in the order in which they were recorded."""
    conditions = conditions_of(wanted)
    latest = select(AuditEvent).where(*conditions).order_by(AuditEvent.id.desc()).limit(limit)
    total = db.scalar(select(func.count()).select_from(AuditEvent).where(*conditions)) or 0
    return Found(db.scalars(latest).all()[::-1], total)


def latest_id(db: Session) -> int:
    """The largest id of an event; 0 if there is none."""
    return db.scalar(select(func.max(AuditEvent.id))) or 0


# Who has an administrator's action done, and why: keys of an event's ``details``.


MAX_REASON = 200  # characters


class Cause(NamedTuple):
    """The actor of an action and the reason that was given for it.

    ``kind``: a user, a client, or a command of the operator, which has no ``id``.
    """

    kind: Literal["user", "client", "command"]
    id: str | None = None
    reason: str | None = None

    def details(self, **more: str) -> dict[str, Detail]:
        """The details of the event: ``more``, ``actor`` and ``reason``."""
        reason: dict[str, Detail] = {"reason": self.reason} if self.reason else {}
        return {**more, "actor": {"kind": self.kind, "id": self.id}, **reason}


def details_of(cause: Cause | None, **more: str) -> dict[str, Detail] | None:
    """The details of an event that may have an administrator's ``cause``; None without any."""
    if cause is not None:
        return cause.details(**more)
    return {**more} or None


# Record denied requests: forged links, foreign pages, wrong secrets, requests over a limit.


log = get_logger("authsite.audit")


def record_denial(request: Request, error: ApiError) -> None:
    """Record ``error`` if it is a security event (OWASP ASVS 16.3), after the transaction.

    Each event is recorded once an hour for a client address, and client or `audit_subject`, so that
    attackers cannot grow the table without limit; the log has every request. If recording fails,
    the response stays the same.
    """
    event, client_id = error.audit_event, error.client_id
    if event is None:
        return
    state = request.authsite
    details = error.audit_details or ({"reason": error.reason} if error.reason else None)
    subject = (event, state.ctx.limits.address, str(client_id or error.audit_subject))

    def write() -> None:
        if state.ctx.limits.first(*subject):
            record_apart(state.ctx, event, client_id=client_id, details=details)

    _at_end(request, event, write)


def record_exceeded(request: Request, limit: str, subject: str) -> None:
    """Record that ``subject`` has exceeded ``limit``, after the transaction.

    ``subject``: a keyed hash of what the limit counts, such as an address. `CallerLimits` calls
    this once in a window.
    """
    event = Event.LIMIT_EXCEEDED
    details = {"limit": limit, "subject": subject[:16]}
    ctx = request.authsite.ctx
    _at_end(request, event, lambda: record_apart(ctx, event, details=details))


def _at_end(request: Request, event: Event, write: Callable[[], None]) -> None:
    def write_or_log(_request: object) -> None:
        try:
            write()
        except Exception as failure:  # the response is made: a bug here must not replace it
            log.error("audit_failed", event_name=event, error=type(failure).__name__)

    request.add_finished_callback(write_or_log)
