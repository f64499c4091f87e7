"""Note a denied request, find it by its id, and delete the rows of a week ago."""

from collections.abc import Iterator, Sequence
from datetime import datetime, timedelta
from uuid import UUID

import structlog
from sqlalchemy import Connection, select
from sqlalchemy.orm import Session

from authsite.platform.context import Services
from authsite.platform.db.batches import Batch, sweep_table
from authsite.platform.http.errors import ApiError
from authsite.platform.http.request_info import RequestInfo
from authsite.platform.rate_limit.limiter import network_of
from authsite.platform.registrations import Registered
from authsite.platform.request_state import Request
from authsite.platform.runtime import clock
from authsite.platform.settings import Settings

from .models import DeniedRequest
from .notes import notes_of
from .reason import DenialReason, shown

log = structlog.get_logger("authsite.denied_requests")

LIFETIME = timedelta(days=7)
MAX_FOUND = 20  # rows of one request: an id that a proxy sets may come again
TABLES = Registered[type[DenialReason]]("tables of reasons")


def note(request: Request, error: ApiError, status: int) -> None:
    """Note the request for ``authsite explain``; whatever fails, the response stays the same."""
    notes = notes_of(request.authsite.services)
    if not error.noted or (error.noted_by_task and notes.wake is None):
        return
    try:
        state = request.authsite
        route = getattr(request, "matched_route", None)
        name = route.name.removeprefix("authsite.") if route is not None else "none"
        address = network_of(state.client_address)
        subject = str(error.client_id) if error.authenticated else address
        reason = qualified(state.services, error)
        if notes.takes(name, subject, reason or error.code, clock.now()):
            notes.hold(row(state.request_info, error, reason, name, status))
    except Exception as failure:  # the response is made: a bug here must not replace it
        log.error("note_failed", error=type(failure).__name__)


def row(
    info: RequestInfo, error: ApiError, reason: str | None, route: str, status: int
) -> dict[str, object]:
    """The values of a `DeniedRequest`; ``reason``: `qualified`."""
    details = {name: shown(value) for name, value in error.shown.items()}
    return {
        "at": clock.now(),
        "request_id": info.request_id,
        "route": route[:64],
        "status": status,
        "error": error.code[:64],
        "reason": reason,
        "client_id": error.client_id,
        "address": info.address,
        "details": {"answer": shown(str(error)), **details},
    }


def qualified(services: Services, error: ApiError) -> str | None:
    """The name of the error's reason after that of its table, such as ``token.scope``."""
    why = error.why
    if why is None:
        return None
    for name, table in TABLES.of(services).items():
        if isinstance(why, table):
            return f"{name}.{why.value}"
    raise LookupError(f"the table of {why!r} is not registered")


def reason_of(services: Services, name: str | None) -> DenialReason | None:
    """The row of a table for a `qualified` name; None if this version does not know it."""
    table, _dot, reason = (name or "").partition(".")
    return next((each for each in TABLES.of(services).get(table, ()) if each.value == reason), None)


def find(db: Session, request_id: str) -> Sequence[DeniedRequest]:
    """The denied requests with this id, in the order in which they were noted."""
    query = select(DeniedRequest).where(DeniedRequest.request_id == request_id)
    return db.scalars(query.order_by(DeniedRequest.id).limit(MAX_FOUND)).all()


def latest_of(
    db: Session, client_id: UUID, routes: Sequence[str], limit: int
) -> Sequence[DeniedRequest]:
    """The latest denied requests of a client at these routes, the newest last."""
    query = select(DeniedRequest).where(
        DeniedRequest.client_id == client_id, DeniedRequest.route.in_(routes)
    )
    return db.scalars(query.order_by(DeniedRequest.id.desc()).limit(limit)).all()[::-1]


def purge(connection: Connection, now: datetime, _cfg: Settings) -> Iterator[Batch]:
    """Delete the rows that are over a week old."""
    return sweep_table(connection, DeniedRequest, DeniedRequest.at <= now - LIFETIME)
