"""/admin/audit, its events of a request, and /admin/audit.csv"""

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any
from uuid import UUID

from pyramid.response import Response
from pyramid.view import view_config

from authsite.admin.errors import UnknownObject
from authsite.admin.guard import administrator_of
from authsite.admin.lists import DEFAULT_LIMIT, Page, add_link, query_of
from authsite.platform.audit.models import AuditEvent
from authsite.platform.context import Context
from authsite.platform.http.address import route_path
from authsite.platform.http.errors import ValidationFailed
from authsite.platform.http.rendering import see_other
from authsite.platform.request_state import Request
from authsite.platform.runtime.ids import as_id
from authsite.users import service as users

from . import service
from .service import (
    NAMES,
    EventsQuery,
    as_csv,
    denial_of,
    event_texts,
    facts,
    filter_of,
    in_words,
    moment,
)

LIST = "authsite:templates/admin/audit/list.jinja2"
EXPLAIN = "authsite:templates/admin/audit/explain.jinja2"


@view_config(
    route_name="authsite.admin.audit", request_method="GET", renderer=LIST, admin="audit:read"
)
def list_events(request: Request) -> dict[str, Any] | Response:
    """The events that the filters find, the newest first; or where a request with an id is."""
    ctx, by = request.authsite.ctx, administrator_of(request)
    request_id = request.GET.get("q", "").strip()
    if request_id and _is_stored(ctx, request_id):
        path = route_path(request, "authsite.admin.audit.explain", request_id=request_id)
        return see_other(request, path)
    given = {name: request.GET.get(name, "").strip() for name in NAMES}
    page: Page[AuditEvent] = Page((), None)
    wrong: Sequence[str] = ()
    try:
        query = query_of(request, EventsQuery)
        wanted = filter_of(ctx.db, query)
        page = service.list_events(ctx, by, wanted, DEFAULT_LIMIT, query.cursor, query.texts)
    except ValidationFailed as error:
        wrong = [each.field for each in error.details if each.field]
    found = service.shown(ctx)
    at = found["verified_at"]
    return {
        "rows": _rows(request, page.rows),
        "next": page.next,
        "filters": given,
        "wrong": wrong,
        "unknown_id": request_id,
        "seals": found,
        "verified_at": at and datetime.fromisoformat(at),
        "exports": by.may("exports:read"),
        "walk": service.WALK,
    }


@view_config(
    route_name="authsite.admin.audit.explain",
    request_method="GET",
    renderer=EXPLAIN,
    admin="audit:read",
)
def explain(request: Request) -> dict[str, Any]:
    """What happened in a request, and what each event means."""
    request_id, at = request.matchdict["request_id"], moment(request.GET.get("at", ""))
    ctx = request.authsite.ctx
    found = service.explain(ctx, request_id, at)
    rows = _rows(request, found.events)
    denied = [denial_of(ctx.services, each) for each in found.denied]
    shown = {each["reason"] for each in denied}
    for row, event in zip(rows, found.events, strict=True):
        row.update(event_texts(ctx.services, event, shown))
    return {"rows": rows, "denied": denied, "request_id": request_id}


@view_config(
    route_name="authsite.admin.audit.csv", request_method="GET", spends=True, admin="exports:read"
)
def export(request: Request) -> Response:
    """The events that the filters find as a table."""
    ctx, by = request.authsite.ctx, administrator_of(request)
    found = service.export(ctx, by, query_of(request, EventsQuery))
    add_link(request, found.next)
    response: Response = request.response
    response.headers["Content-Type"] = "text/csv; charset=utf-8"
    response.headers["Content-Disposition"] = 'attachment; filename="audit.csv"'
    response.body = b"".join(as_csv(found.parts))
    return response


def _is_stored(ctx: Context, request_id: str) -> bool:
    """Whether `explain` says something about the request. Raises `SearchTooWide`."""
    try:
        service.explain(ctx, request_id)
    except UnknownObject:
        return False
    return True


def _rows(request: Request, events: Sequence[AuditEvent]) -> list[dict[str, Any]]:
    """`facts` with ``actor`` and ``reason`` as texts, and ``more``: the other details."""
    ctx = request.authsite.ctx
    found = facts(ctx.db, events)
    ids = {id_ for row in found if (id_ := _actor_id(row["details"]))}
    emails = users.emails(ctx.db, ids) if ids else {}
    for row, event in zip(found, events, strict=True):
        row["time"] = event.at
        details, id_ = dict(row["details"]), _actor_id(row["details"])
        actor = details.pop("actor", None)
        row["actor"] = (emails.get(id_) if id_ else None) or (actor and in_words(actor))
        row["more"] = [(name, in_words(value)) for name, value in details.items()]
    return found


def _actor_id(details: Mapping[str, Any]) -> UUID | None:
    """The id of the user who has acted as an administrator."""
    actor = details.get("actor")
    if isinstance(actor, Mapping) and actor.get("kind") == "user":
        return as_id(str(actor.get("id")))
    return None
