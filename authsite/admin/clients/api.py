"""/v1/admin/clients"""

from collections.abc import Sequence
from typing import Any
from uuid import UUID

from pyramid.response import Response
from pyramid.view import view_config

from authsite.admin.bodies import ReasonBody
from authsite.admin.errors import InvalidCursor, UnknownObject
from authsite.admin.guard import administrator_of
from authsite.admin.judges import of_reason
from authsite.admin.queries import LINK, answer, query_of
from authsite.oauth.invalid_value import InvalidValue
from authsite.oauth.models import Client
from authsite.platform.http.api_metadata import Operation
from authsite.platform.http.errors import FieldError
from authsite.platform.request_state import Request
from authsite.platform.runtime.ids import as_client_id

from . import service
from .bodies import (
    ClientAnswer,
    ClientBody,
    ClientPath,
    ClientsAnswer,
    ClientsQuery,
    ClientWithSecretAnswer,
    DeleteClientBody,
    NewClientBody,
    as_json,
    values_of,
)
from .errors import ClientInUse, InvalidClient, OtherName

_LIST = "authsite.admin.api.clients"
_ERRORS = (UnknownObject,)
_INVALID = InvalidClient(
    InvalidValue("there is no group 'ops': create it with `authsite group create`")
)
_NO_SECRET = InvalidClient(
    InvalidValue("a client of type browser has no secret. It sends its client_id alone")
)


def _reach(request: Request) -> None:
    service.reach(request.authsite.ctx, administrator_of(request), _id(request))


_judge_reason = of_reason(_reach)


def _judge_new(request: Request, given: Any) -> Sequence[FieldError]:
    ctx, by, values = request.authsite.ctx, administrator_of(request), values_of(given)
    unread = _unread(given)
    return service.registration_errors(ctx, by, given.type, values, given.reason, unread=unread)


def _judge_change(request: Request, given: Any) -> Sequence[FieldError]:
    ctx, by, values = request.authsite.ctx, administrator_of(request), values_of(given)
    unread = _unread(given)
    return service.change_errors(ctx, by, _id(request), values, given.reason, unread=unread)


def _unread(given: Any) -> list[str]:
    """The fields of a refused body that are sent, and not valid."""
    return [name for name in given.sent if getattr(given, name) is None]


def _judge_deletion(request: Request, given: Any) -> Sequence[FieldError]:
    ctx, by = request.authsite.ctx, administrator_of(request)
    return service.deletion_errors(ctx, by, _id(request), given.name, given.reason)


@view_config(route_name=_LIST, request_method="GET", renderer="json", admin="clients:read")
@Operation(
    "List the clients",
    {200: ClientsAnswer},
    description="Never their secrets.",
    headers={200: LINK},
    query=ClientsQuery,
    errors=(InvalidCursor,),
)
def list_clients(request: Request) -> dict[str, Any]:
    query = query_of(request, ClientsQuery)
    ctx, wanted = request.authsite.ctx, service.Filters(query.name, query.type, query.disabled)
    found = service.some(ctx, administrator_of(request), wanted, query.limit, query.cursor)
    uris = service.uris_of(ctx, found)
    return answer(request, found, lambda each: as_json(each, uris))


@view_config(
    route_name=_LIST,
    request_method="POST",
    renderer="json",
    body=NewClientBody,
    judge=_judge_new,
    admin="clients:write",
    recent=True,
)
@Operation(
    "Register a client",
    {201: ClientWithSecretAnswer},
    description="The secret is in this response alone.",
    errors=(_INVALID,),
)
def register(request: Request) -> ClientWithSecretAnswer:
    given: NewClientBody = request.authsite.validated
    ctx, by = request.authsite.ctx, administrator_of(request)
    made, secret = service.register(ctx, by, given.type, values_of(given), given.reason)
    request.response.status_int = 201
    return _with_secret(request, made, secret)


@view_config(
    route_name=f"{_LIST}.client", request_method="GET", renderer="json", admin="clients:read"
)
@Operation("Show a client", {200: ClientAnswer}, path=ClientPath, errors=(UnknownObject,))
def show(request: Request) -> ClientAnswer:
    return _shown(request, service.find(request.authsite.ctx, _id(request)))


@view_config(
    route_name=f"{_LIST}.client",
    request_method="PATCH",
    renderer="json",
    body=ClientBody,
    judge=_judge_change,
    admin="clients:write",
    recent=True,
)
@Operation(
    "Change a client",
    {200: ClientAnswer},
    description="A narrower `scope`, and another `first_party`, end the tokens of the client.",
    path=ClientPath,
    errors=(*_ERRORS, _INVALID),
)
def change(request: Request) -> ClientAnswer:
    given: ClientBody = request.authsite.validated
    ctx, by, values = request.authsite.ctx, administrator_of(request), values_of(given)
    return _shown(request, service.change(ctx, by, _id(request), values, given.reason))


@view_config(
    route_name=f"{_LIST}.rotate_secret",
    request_method="POST",
    renderer="json",
    body=ReasonBody,
    judge=_judge_reason,
    admin="clients:write",
    recent=True,
)
@Operation(
    "Give a client a new secret",
    {200: ClientWithSecretAnswer},
    description=(
        "The secret is in this response alone. The one before works until `retire-secret`, or until"
        " the next rotation."
    ),
    path=ClientPath,
    errors=(*_ERRORS, _NO_SECRET),
)
def rotate_secret(request: Request) -> ClientWithSecretAnswer:
    given: ReasonBody = request.authsite.validated
    ctx, by = request.authsite.ctx, administrator_of(request)
    client, secret = service.rotate_secret(ctx, by, _id(request), given.reason)
    return _with_secret(request, client, secret)


@view_config(
    route_name=f"{_LIST}.retire_secret",
    request_method="POST",
    renderer="json",
    body=ReasonBody,
    judge=_judge_reason,
    admin="clients:write",
    recent=True,
)
@Operation("End the older of two secrets", {200: ClientAnswer}, path=ClientPath, errors=_ERRORS)
def retire_secret(request: Request) -> ClientAnswer:
    given: ReasonBody = request.authsite.validated
    ctx, by = request.authsite.ctx, administrator_of(request)
    return _shown(request, service.retire_secret(ctx, by, _id(request), given.reason))


@view_config(
    route_name=f"{_LIST}.disable",
    request_method="POST",
    renderer="json",
    body=ReasonBody,
    judge=_judge_reason,
    admin="clients:write",
    recent=True,
)
@Operation(
    "Disable a client, and end its tokens", {200: ClientAnswer}, path=ClientPath, errors=_ERRORS
)
def disable(request: Request) -> ClientAnswer:
    given: ReasonBody = request.authsite.validated
    ctx, by = request.authsite.ctx, administrator_of(request)
    return _shown(request, service.disable(ctx, by, _id(request), given.reason))


@view_config(
    route_name=f"{_LIST}.enable",
    request_method="POST",
    renderer="json",
    body=ReasonBody,
    judge=_judge_reason,
    admin="clients:write",
    recent=True,
)
@Operation("Enable a client", {200: ClientAnswer}, path=ClientPath, errors=_ERRORS)
def enable(request: Request) -> ClientAnswer:
    given: ReasonBody = request.authsite.validated
    ctx, by = request.authsite.ctx, administrator_of(request)
    return _shown(request, service.enable(ctx, by, _id(request), given.reason))


@view_config(
    route_name=f"{_LIST}.client",
    request_method="DELETE",
    body=DeleteClientBody,
    judge=_judge_deletion,
    admin="clients:write",
    recent=True,
)
@Operation(
    "Delete a client for good",
    {204: None},
    description="It must be disabled. Its tokens end, and what users have allowed it goes.",
    path=ClientPath,
    errors=(*_ERRORS, ClientInUse, OtherName),
)
def delete(request: Request) -> Response:
    given: DeleteClientBody = request.authsite.validated
    ctx, by = request.authsite.ctx, administrator_of(request)
    service.delete(ctx, by, _id(request), given.name, given.reason)
    request.response.status_int = 204
    return request.response


def _id(request: Request) -> UUID | None:
    return as_client_id(request.matchdict["id"])


def _shown(request: Request, client: Client) -> ClientAnswer:
    return as_json(client, service.uris_of(request.authsite.ctx, client))


def _with_secret(request: Request, client: Client, secret: str | None) -> ClientWithSecretAnswer:
    return {**_shown(request, client), "client_secret": secret}
