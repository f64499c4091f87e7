"""/v1/admin/clients"""

from collections.abc import Sequence
from typing import Annotated, Any, NotRequired, cast
from uuid import UUID

from pydantic import Field
from pyramid.response import Response
from pyramid.view import view_config
from typing_extensions import TypedDict

from authsite.admin.confirming import ReasonBody
from authsite.admin.errors import (
    ClientInUse,
    InvalidClient,
    InvalidCursor,
    OtherName,
    UnknownObject,
)
from authsite.admin.guard import administrator_of
from authsite.admin.judges import of_reason
from authsite.admin.lists import LINK, ListQuery, answer, query_of
from authsite.oauth.clients import uris as client_uris
from authsite.oauth.clients.fields import ClientFields, facts_of
from authsite.oauth.errors import InvalidValue
from authsite.oauth.models import CLIENT_TYPES, REGISTRABLE_TYPES, Client
from authsite.platform.http.api_metadata import Operation, Parameters, response_body
from authsite.platform.http.errors import FieldError
from authsite.platform.request_state import Request
from authsite.platform.runtime.ids import as_client_id

from . import service
from .service import ClientValues

# The bodies of /v1/admin/clients: what is sent, and the answers.


_MOMENT = Field(json_schema_extra={"format": "date-time"}, examples=["2026-01-31T09:30:00Z"])
Id = Annotated[str, Field(examples=["5b6f3c0e-8f0c-4c8e-9f57-2f1d0f0a9d11"])]
Name = Annotated[str, Field(max_length=200, examples=["Web shop"])]
Resource = Annotated[str, Field(max_length=2048, examples=["https://api.example.org/"])]
Logo = Annotated[str, Field(max_length=2048, examples=["shop.svg"])]
Page = Annotated[str, Field(max_length=2048, examples=["https://shop.example.org/terms"])]
ScopeText = Annotated[str, Field(max_length=2048, examples=["reports:read"])]
ScopeList = Annotated[list[str], Field(max_length=100, examples=[["reports:read"]])]
Scope = ScopeText | ScopeList
Uris = Annotated[list[str], Field(max_length=200, examples=[["https://app.example.org/callback"]])]
Lifetime = Annotated[str, Field(max_length=20, examples=["10m"])]
_NEW_TYPES = Field(json_schema_extra={"enum": list(REGISTRABLE_TYPES)}, examples=["password"])
_TYPES = Field(json_schema_extra={"enum": list(CLIENT_TYPES)}, examples=["password"])


class FieldsBody(ReasonBody):
    """What a client has besides its name, type and scopes."""

    scope: Scope | None = None
    """The scopes it may ask for."""
    default_scope: Scope | None = None
    """The scopes it gets if it asks for none."""
    redirect_uris: Uris | None = None
    """Where the person returns after the sign-in."""
    post_logout_redirect_uris: Uris | None = None
    """Where the person returns after the logout."""
    origins: Uris | None = None
    """`browser`: origins whose pages may call the token endpoint (CORS)."""
    first_party: bool | None = None
    """Your own application: no consent is asked. Changing it ends the client's tokens."""
    consent: Annotated[str, Field(max_length=16, examples=["ask"])] | None = None
    """`ask`, or `none`: you answer for your users, who are not asked for what the client may have
    anyway. It stays a third party's: its tokens open nothing else for that."""
    pkce: Annotated[str, Field(max_length=16, examples=["required"])] | None = None
    """`required` or `optional`."""
    id_token_signed_response_alg: Annotated[str, Field(max_length=8, examples=["RS256"])] | None = (
        None
    )
    """`RS256` or `ES256`."""
    id_token_lifetime: Lifetime | Annotated[int, Field(examples=[600])] | None = None
    """How long its ID tokens last: seconds, or a text such as `10m`; 0 for the setting."""
    id_token_claims: Annotated[str, Field(max_length=16, examples=["userinfo"])] | None = None
    """`userinfo` or `both`."""
    require_confirmed: bool | None = None
    """Only users with a confirmed e-mail address."""
    require_group: Annotated[str, Field(max_length=64, examples=["finance"])] | None = None
    """Only members of this group; empty for none."""
    default_resource: Resource | None = None
    """The resource that its tokens are for if a request names none (RFC 8707)."""
    logo: Logo | None = None
    """A picture in `static-folder`."""
    policy_uri: Page | None = None
    """Its privacy policy."""
    tos_uri: Page | None = None
    """Its terms of service."""


class NewClientBody(FieldsBody):
    description = "A new client."

    name: Name
    """Display name."""
    type: Annotated[str, Field(max_length=32), _NEW_TYPES]
    """What kind of program it is; it never changes."""


class ClientBody(FieldsBody):
    description = "What changes; what is absent stays, and an empty text or list removes a value."

    name: Name | None = None
    """Display name."""


class DeleteClientBody(ReasonBody):
    description = "The name of the client, as a confirmation."

    name: Name
    """Its display name."""


class ClientPath(Parameters):
    """Path of a client."""

    id: Id
    """Its id."""


class ClientsQuery(ListQuery):
    """Query of the list of clients."""

    name: Annotated[str | None, Field(max_length=100, examples=["shop"])] = None
    """Only names with this text in them."""
    type: Annotated[str | None, Field(max_length=32), _TYPES] = None
    """Only this type."""
    disabled: bool | None = None
    """`true`: only disabled ones; `false`: only enabled ones."""


# Described here, for strings under fields are not inherited.
@response_body("A client. The fields from `verified` on are those that its type has.")
class ClientAnswer(TypedDict):
    client_id: Annotated[Id, Field(description="Its id.")]
    name: Annotated[str, Field(examples=["Web shop"]), Field(description="Display name.")]
    type: Annotated[str, _TYPES, Field(description="What kind of program it is.")]
    grant_types: Annotated[
        list[str],
        Field(examples=[["password", "refresh_token"]]),
        Field(description="How it gets tokens (RFC 7591)."),
    ]
    scope: Annotated[
        str,
        Field(examples=["reports:read"]),
        Field(description="The scopes it may ask for, separated by spaces."),
    ]
    default_scope: Annotated[
        str, Field(examples=[""]), Field(description="The scopes it gets if it asks for none.")
    ]
    secrets: Annotated[
        int,
        Field(examples=[1]),
        Field(description="How many secrets are valid: 0 for a public client, 2 after a rotation."),
    ]
    enabled: Annotated[bool, Field(description="Whether it is accepted.")]
    created_at: Annotated[str, _MOMENT, Field(description="When it was created.")]
    verified: NotRequired[
        Annotated[bool, Field(description="`false`: no administrator has registered it.")]
    ]
    document: NotRequired[
        Annotated[
            str | None,
            Field(description="The URL that describes it, which is the `client_id` it sends."),
        ]
    ]
    client_uri: NotRequired[Annotated[str | None, Field(description="Its home page.")]]
    used_at: NotRequired[
        Annotated[
            str | None, _MOMENT, Field(description="When it got its first tokens; null before.")
        ]
    ]
    redirect_uris: NotRequired[
        Annotated[list[str], Field(description="Where the person returns after the sign-in.")]
    ]
    post_logout_redirect_uris: NotRequired[
        Annotated[list[str], Field(description="Where the person returns after the logout.")]
    ]
    origins: NotRequired[
        Annotated[list[str], Field(description="Origins whose pages may call the token endpoint.")]
    ]
    first_party: NotRequired[Annotated[bool, Field(description="Whether no consent is asked.")]]
    consent: NotRequired[
        Annotated[str, Field(description="`ask`, or `none`: users are not asked.")]
    ]
    pkce: NotRequired[Annotated[str, Field(description="`required` or `optional`.")]]
    id_token_signed_response_alg: NotRequired[
        Annotated[str, Field(description="What its ID tokens are signed with.")]
    ]
    id_token_lifetime: NotRequired[
        Annotated[int | None, Field(description="Seconds; null for the setting.")]
    ]
    id_token_claims: NotRequired[Annotated[str, Field(description="`userinfo` or `both`.")]]
    require_confirmed: NotRequired[
        Annotated[
            bool,
            Field(description="Whether only users with a confirmed e-mail address may use it."),
        ]
    ]
    require_group: NotRequired[
        Annotated[str | None, Field(description="The group whose members alone may use it.")]
    ]
    default_resource: NotRequired[
        Annotated[
            str | None,
            Field(description="The resource that its tokens are for if a request names none."),
        ]
    ]
    logo: NotRequired[Annotated[str | None, Field(description="A picture in `static-folder`.")]]
    policy_uri: NotRequired[Annotated[str | None, Field(description="Its privacy policy.")]]
    tos_uri: NotRequired[Annotated[str | None, Field(description="Its terms of service.")]]


@response_body("A client with a new secret, which is shown only in this response.")
class ClientWithSecretAnswer(ClientAnswer):
    client_secret: Annotated[str | None, Field(examples=["Q2vZs9WmYtKx4LrJbH7dPfUc3NgEaXo1Ti8B"])]
    """Null for a public client, which has none."""


@response_body("A part of the list of clients.")
class ClientsAnswer(TypedDict):
    data: list[ClientAnswer]
    """The newest first."""
    next: Annotated[str | None, Field(examples=["b3RoZXI"])]
    """The `cursor` of the next part; null at the end."""


def as_json(client: Client, uris: client_uris.Uris) -> ClientAnswer:
    """The answer for a client."""
    return cast(ClientAnswer, facts_of(client, uris))


def values_of(given: Any) -> ClientValues:
    """The values of a `NewClientBody` or `ClientBody`, or of what a `Judge` gets of one."""
    fields = ClientFields(**{name: getattr(given, name) for name in ClientFields._fields})
    return ClientValues(given.name, _text(given.scope), _text(given.default_scope), fields)


def _text(scope: str | list[str] | None) -> str | None:
    return " ".join(scope) if isinstance(scope, list) else scope


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
