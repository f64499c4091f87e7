"""GET /v1/admin/mails, POST /v1/admin/mails/{id}/retry and …/cancel"""

from typing import Annotated, Any, Literal
from uuid import UUID

from pydantic import Field
from pyramid.view import view_config
from typing_extensions import TypedDict

from authsite.admin.confirming import ReasonBody
from authsite.admin.errors import InvalidCursor, MailEnded, Outranked, SecurityNotice, UnknownObject
from authsite.admin.guard import Administrator, administrator_of
from authsite.admin.judges import of_reason
from authsite.admin.lists import LINK, ListQuery, answer, query_of
from authsite.platform.context import Context
from authsite.platform.http.api_metadata import Operation, Parameters, response_body
from authsite.platform.mail.outbox import State, facts
from authsite.platform.request_state import Request
from authsite.platform.runtime.ids import as_id

from . import service


@response_body("A mail of the outbox, without its text, its link and the whole address.")
class MailAnswer(TypedDict):
    """A mail."""

    id: Annotated[str, Field(examples=["0a8c1f0e-5b6f-4c8e-9f57-2f1d0f0a9d11"])]
    """Its id."""
    letter: Annotated[str, Field(examples=["reset"])]
    """What kind of mail it is."""
    to: Annotated[str, Field(examples=["a…@example.com"])]
    """The first character and the domain of the address."""
    state: Literal["waiting", "failed", "sent", "expired", "dead"]
    """`failed`: it waits for another try; `expired`: dropped, since it was of no more use."""
    attempts: int
    """How often it was tried."""
    last_error: str | None
    """Why the last try failed."""
    next_attempt_at: str | None
    """Null unless it waits."""
    created_at: Annotated[str, Field(examples=["2026-05-01T12:00:00Z"])]
    """When it was written."""


@response_body("A part of the outbox.")
class MailsAnswer(TypedDict):
    """A part of the list."""

    data: list[MailAnswer]
    """The newest first."""
    next: str | None
    """The cursor of the next part; null at the end."""


class MailsQuery(ListQuery):
    """Query of the outbox."""

    state: State | None = None
    """Only mails in this state; those that failed are `waiting`."""


class MailPath(Parameters):
    """Path with the id of a mail."""

    mail: Annotated[str, Field(examples=["0a8c1f0e-5b6f-4c8e-9f57-2f1d0f0a9d11"])]
    """The id of the mail."""


@view_config(
    route_name="authsite.admin.api.mails",
    request_method="GET",
    renderer="json",
    admin="mail:read",
)
@Operation(
    "List the mails of the outbox",
    {200: MailsAnswer},
    description="The newest first. Sent and dropped ones stay for a week, dead ones for a month.",
    headers={200: LINK},
    errors=(InvalidCursor,),
    query=MailsQuery,
)
def mails(request: Request) -> dict[str, Any]:
    ctx, query = request.authsite.ctx, query_of(request, MailsQuery)
    by = administrator_of(request)
    found = service.list_mails(ctx, by, query.state, query.limit, query.cursor)
    return answer(request, found, facts)


@view_config(
    route_name="authsite.admin.api.mails.retry",
    request_method="POST",
    renderer="json",
    admin="mail:write",
    body=ReasonBody,
    judge=of_reason(lambda request: service.reach(*_about(request))),
)
@Operation(
    "Have a dead mail tried again",
    {200: MailAnswer},
    description="For another 24 hours. A mail that waits stays as it is.",
    errors=(UnknownObject, MailEnded, Outranked),
    path=MailPath,
)
def retry(request: Request) -> dict[str, Any]:
    return facts(service.retry(*_given(request)))


@view_config(
    route_name="authsite.admin.api.mails.cancel",
    request_method="POST",
    renderer="json",
    admin="mail:write",
    body=ReasonBody,
    judge=of_reason(lambda request: service.require_cancelable(*_about(request))),
)
@Operation(
    "Cancel a mail that was not sent yet",
    {200: MailAnswer},
    description="Only one with a link or a code to use, never a notice of security.",
    errors=(UnknownObject, MailEnded, SecurityNotice, Outranked),
    path=MailPath,
)
def cancel(request: Request) -> dict[str, Any]:
    return facts(service.cancel(*_given(request)))


def _about(request: Request) -> tuple[Context, Administrator, UUID]:
    id_ = as_id(request.matchdict["mail"].lower())
    if id_ is None:
        raise UnknownObject
    return request.authsite.ctx, administrator_of(request), id_


def _given(request: Request) -> tuple[Any, ...]:
    return *_about(request), request.authsite.validated.reason
