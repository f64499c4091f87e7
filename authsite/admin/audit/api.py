"""GET /v1/admin/events and what is below it, GET /v1/admin/seals"""

from typing import Annotated, Any

from pydantic import Field
from pyramid.response import Response
from pyramid.view import view_config
from typing_extensions import TypedDict

from authsite.admin.errors import InvalidCursor, SearchTooWide, UnknownObject
from authsite.admin.guard import administrator_of
from authsite.admin.lists import LINK, add_link, invalid, query_of
from authsite.platform.http.api_metadata import Operation, Parameters, Text, response_body
from authsite.platform.http.errors import ValidationFailed
from authsite.platform.rate_limit.errors import TooManyAttempts
from authsite.platform.request_state import Request

from . import service
from .service import EventsQuery, as_ndjson, current, denial_of, explained, facts, filter_of, moment

NDJSON = "application/x-ndjson"
EXPORTED = '{"at": "2026-05-01T12:00:00Z", "event": "login.failed", "details": {}}\n'


@response_body("An event.")
class EventAnswer(TypedDict):
    """An event."""

    at: Annotated[str, Field(examples=["2026-05-01T12:00:00Z"])]
    """When it happened."""
    event: Annotated[str, Field(examples=["login.failed"])]
    """The name of the event."""
    user_id: Annotated[str | None, Field(examples=["0a8c1f0e-5b6f-4c8e-9f57-2f1d0f0a9d11"])]
    """The user that it is about."""
    email: Annotated[str | None, Field(examples=["ann@example.com"])]
    """Null of a deleted user, too."""
    client_id: str | None
    """The id of the client."""
    client: str | None
    """The name of the client."""
    address: Annotated[str | None, Field(examples=["203.0.113.7"])]
    """Of the client; null for a command."""
    device: Annotated[str | None, Field(examples=["Firefox on Windows"])]
    """Browser and system, from the header User-Agent."""
    agent: str | None
    """The header User-Agent."""
    request_id: str | None
    """The id of the request; null for a command."""
    details: Annotated[
        dict[str, str | dict[str, str | None]],
        Field(examples=[{"reason": "wrong_password"}]),
    ]
    """By event. `actor` and `reason` say who has done it as an administrator, and why."""


@response_body("A part of the audit trail.")
class EventsAnswer(TypedDict):
    """A part of the list."""

    data: list[EventAnswer]
    """The newest first. A part may be short or empty although there is a next one."""
    next: str | None
    """The cursor of the next part; null at the end."""


@response_body("An event, and what it means.")
class ExplainedEvent(EventAnswer):
    """An event, and what it means."""

    meaning: Annotated[str, Field(examples=["A login failed. The password was wrong."])]
    """What it means, and why something failed, for operators."""
    person: Annotated[str, Field(examples=["The e-mail address or password is incorrect."])]
    """What to tell the person; empty where nothing failed."""
    developer: Annotated[str, Field(examples=["Show the answer of a failed login as it is."])]
    """What to tell who writes the program at the other end; empty where nothing failed."""


class DenialAnswer(TypedDict):
    """How a request was denied."""

    at: Annotated[str, Field(examples=["2026-05-01T12:00:00Z"])]
    """When it happened."""
    route: Annotated[str, Field(examples=["oauth.token"])]
    """The name of the endpoint."""
    status: int
    """The HTTP status of the response."""
    error: Annotated[str, Field(examples=["invalid_scope"])]
    """The code of the error."""
    reason: Annotated[str | None, Field(examples=["token.scope"])]
    """The name of the reason; null for an error that has only one."""
    meaning: Annotated[str, Field(examples=["The client may not have this scope: add it."])]
    """What was wrong and what to change, for operators."""
    answer: Annotated[str, Field(examples=["The client may not have the scope notes:write."])]
    """What the caller was told."""
    person: Annotated[str, Field(examples=["Tell the people who run the application."])]
    """What to tell the person; may be empty."""
    developer: Annotated[str, Field(examples=["The client may not have the scope notes:write."])]
    """What to tell who writes the program at the other end; may be empty."""
    client_id: str | None
    """The id of the client, if it is known."""
    address: Annotated[str | None, Field(examples=["203.0.113.7"])]
    """Of the client."""
    details: Annotated[
        dict[str, str],
        Field(examples=[{"sent": "notes:write", "expected": "notes:read"}]),
    ]
    """What was `sent` and `expected`, what is `nearest` of what is registered, what `differs`."""


@response_body("The events of a request, and how it was denied.")
class ExplainAnswer(TypedDict):
    """The events of a request."""

    events: list[ExplainedEvent]
    """The oldest first."""
    denied: list[DenialAnswer]
    """How it was denied, if that was in the last seven days; else empty."""


class SealAnswer(TypedDict):
    """A seal."""

    seal: int
    """The number of the seal."""
    mac: Annotated[str, Field(examples=["5f1d0f0a9d11"])]
    """Its authentication code, in hexadecimal."""


class ProblemAnswer(TypedDict):
    """What does not verify."""

    seal: int | None
    """The number of the seal; null where no seal is concerned."""
    first_id: int | None
    """The id of the first event concerned."""
    last_id: int | None
    """The id of the last event concerned."""
    until: Annotated[str | None, Field(examples=["2026-05-01T12:00:00Z"])]
    """The time of the last event concerned."""
    text: Annotated[str, Field(examples=["3 events are missing."])]
    """What is wrong."""


@response_body("Whether the seals of the audit trail hold.")
class SealsAnswer(TypedDict):
    """The result of a verification."""

    verified_at: Annotated[str | None, Field(examples=["2026-05-01T12:00:00Z"])]
    """When that was found: now, or of a trail of more than 20,000 events at the last `authsite
    audit verify`; null if there was none."""
    ok: bool | None
    """Whether all seals hold; null if they were never verified."""
    seals: int | None
    """The number of seals."""
    events: int | None
    """Events with a seal."""
    unsealed: int | None
    """Newer events, which have no seal yet."""
    newest_seal: SealAnswer | None
    """To compare with a copy that is stored elsewhere; null without seals."""
    problems: list[ProblemAnswer]
    """Empty if all seals hold."""


class RequestIdPath(Parameters):
    """Path with a request id."""

    request_id: Annotated[str, Field(examples=["ca90fc6bdd7412d304c5b6c4"])]
    """The header X-Request-Id of a response, which pages with an error show."""


class ExplainQuery(Parameters):
    """Query for a request."""

    at: Annotated[str | None, Field(examples=["2026-05-01T12:00:00Z"])] = None
    """When one of the events was, to a minute: with it an old request is found as fast as a new
    one. A duration such as `24h` or `7d`, a date in UTC, or a moment."""


@view_config(
    route_name="authsite.admin.api.events",
    request_method="GET",
    renderer="json",
    admin="audit:read",
)
@Operation(
    "List the events of the audit trail",
    {200: EventsAnswer},
    description="The newest first. With another filter than `user` a part ends after 20,000 events"
    " that were read, with a cursor, even if none of them is found.",
    headers={200: LINK},
    errors=(InvalidCursor,),
    query=EventsQuery,
)
def events(request: Request) -> dict[str, Any]:
    ctx, by = request.authsite.ctx, administrator_of(request)
    query = query_of(request, EventsQuery)
    wanted = filter_of(ctx.db, query)
    found = service.list_events(ctx, by, wanted, query.limit, query.cursor, query.texts)
    add_link(request, found.next)
    return {"data": facts(ctx.db, found.rows), "next": found.next}


@view_config(
    route_name="authsite.admin.api.events.export",
    request_method="GET",
    admin="exports:read",
)
@Operation(
    "Export the events of the audit trail",
    {200: Text(NDJSON, "One event on each line, as in the list.", EXPORTED)},
    description="NDJSON: one event on each line, up to 20,000. The header Link has the next part."
    " Each export is an event. Clients that act for themselves cannot export.",
    headers={200: LINK},
    errors=(InvalidCursor, TooManyAttempts(60)),
    query=EventsQuery,
)
def export(request: Request) -> Response:
    ctx, query = request.authsite.ctx, query_of(request, EventsQuery)
    found = service.export(ctx, administrator_of(request), query)
    add_link(request, found.next)
    response: Response = request.response
    response.headers["Content-Type"] = NDJSON
    response.body = b"".join(as_ndjson(found.parts))
    return response


@view_config(
    route_name="authsite.admin.api.events.explain",
    request_method="GET",
    renderer="json",
    admin="audit:read",
)
@Operation(
    "Show what happened in a request",
    {200: ExplainAnswer},
    description="Without `at` a request that is not among the newest 20,000 events is looked for in"
    " the whole trail, which takes seconds on a large site.",
    errors=(UnknownObject, SearchTooWide),
    path=RequestIdPath,
    query=ExplainQuery,
)
def explain(request: Request) -> dict[str, Any]:
    ctx = request.authsite.ctx
    text = query_of(request, ExplainQuery).at
    if (at := moment(text) if text else None) is None and text:
        raise ValidationFailed(details=[invalid("at")])
    found = service.explain(ctx, request.matchdict["request_id"], at)
    denied = [denial_of(ctx.services, each) for each in found.denied]
    return {"events": explained(ctx, found.events), "denied": denied}


@view_config(
    route_name="authsite.admin.api.seals",
    request_method="GET",
    renderer="json",
    admin="audit:read",
)
@Operation("Show whether the seals of the audit trail hold", {200: SealsAnswer})
def seals(request: Request) -> dict[str, Any]:
    return current(request.authsite.ctx)
