"""/v1/admin/invitations"""

from typing import Annotated, Any

from pydantic import Field
from pyramid.response import Response
from pyramid.view import view_config
from typing_extensions import TypedDict

from authsite.admin.confirming import ReasonBody
from authsite.admin.errors import InvalidCursor
from authsite.admin.guard import administrator_of
from authsite.admin.judges import of_reason
from authsite.admin.lists import LINK, ListQuery, answer, query_of
from authsite.groups.errors import ReservedName
from authsite.invitations.errors import InvitationsClosed, UnknownInvitation, UnknownInvitedGroup
from authsite.invitations.service import InvitationAnswer, OpenInvitation, shown, shown_open
from authsite.platform.http.api_metadata import Operation, Parameters, response_body
from authsite.platform.http.bodies import Email
from authsite.platform.request_state import Request

from . import judges, service
from .service import require_recent_for

_LIST = "authsite.admin.api.invitations"
_ONE = f"{_LIST}.invitation"


class InvitationBody(ReasonBody):
    description = "Who is invited."

    email: Email
    """The address that the link is mailed to."""
    group: Annotated[str | None, Field(max_length=64, examples=["ops"])] = None
    """The group that the person will be in, which needs `admin:groups:write`; never a reserved
    one."""


class InvitationPath(Parameters):
    """Path of an invitation."""

    id: Annotated[str, Field(json_schema_extra={"format": "uuid"})]
    """Its id."""


@response_body("A part of the list of open invitations.")
class InvitationsAnswer(TypedDict):
    data: list[OpenInvitation]
    """The newest first."""
    next: Annotated[str | None, Field(examples=["b3RoZXI"])]
    """The `cursor` of the next part; null at the end."""


@view_config(route_name=_LIST, request_method="GET", renderer="json", admin="invitations:write")
@Operation(
    "List the open invitations",
    {200: InvitationsAnswer},
    description="Not those that have expired, or whose inviter may not invite any more.",
    headers={200: LINK},
    query=ListQuery,
    errors=(InvalidCursor,),
)
def list_invitations(request: Request) -> dict[str, Any]:
    query, by = query_of(request, ListQuery), administrator_of(request)
    found = service.some(request.authsite.ctx, by, query.limit, query.cursor)
    return answer(request, found, shown_open)


@view_config(
    route_name=_LIST,
    request_method="POST",
    renderer="json",
    body=InvitationBody,
    judge=judges.new,
    admin="invitations:write",
)
@Operation(
    "Invite a person",
    {202: InvitationAnswer},
    description=(
        "The person gets a link by mail, which works once, for seven days. The response is the same"
        " whether or not there is an account with the address. Where there is an open invitation"
        " to the same group, the response is that one, and no mail is sent."
    ),
    errors=(InvitationsClosed, ReservedName("authsite:owner"), UnknownInvitedGroup),
)
def invite(request: Request) -> InvitationAnswer:
    given: InvitationBody = request.authsite.validated
    ctx, by = request.authsite.ctx, administrator_of(request)
    require_recent_for(request, given.group)
    request.response.status_int = 202
    return shown(service.invite(ctx, by, given.email, given.group, given.reason))


@view_config(route_name=_ONE, request_method="GET", renderer="json", admin="invitations:write")
@Operation(
    "Show an open invitation",
    {200: OpenInvitation},
    path=InvitationPath,
    errors=(UnknownInvitation,),
)
def show(request: Request) -> OpenInvitation:
    return shown_open(service.find(request.authsite.ctx, request.matchdict["id"]))


@view_config(
    route_name=_ONE,
    request_method="DELETE",
    body=ReasonBody,
    judge=of_reason(judges.revocable),
    admin="invitations:write",
)
@Operation(
    "Revoke an invitation",
    {204: None},
    description="Its link ends at once.",
    path=InvitationPath,
    errors=(UnknownInvitation,),
)
def revoke(request: Request) -> Response:
    by, given = administrator_of(request), request.authsite.validated
    service.revoke(request.authsite.ctx, by, request.matchdict["id"], given.reason)
    return Response(status=204)


@view_config(
    route_name=f"{_LIST}.resend",
    request_method="POST",
    renderer="json",
    body=ReasonBody,
    judge=of_reason(judges.resendable),
    admin="invitations:write",
)
@Operation(
    "Mail an invitation again",
    {202: InvitationAnswer},
    description="A new link for seven days; that of the former mail ends.",
    path=InvitationPath,
    errors=(InvitationsClosed, UnknownInvitation),
)
def resend(request: Request) -> InvitationAnswer:
    by, given = administrator_of(request), request.authsite.validated
    request.response.status_int = 202
    return shown(service.resend(request.authsite.ctx, by, request.matchdict["id"], given.reason))
