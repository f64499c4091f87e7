"""The JSON views of the OAuth endpoints and of logout, and the token response."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Annotated, Literal, NotRequired
from uuid import UUID

from pydantic import Field
from pyramid.security import NO_PERMISSION_REQUIRED
from pyramid.view import view_config
from typing_extensions import TypedDict

from authsite.platform.http.api_metadata import (
    CLIENT_BASIC,
    Operation,
    ResponseHeader,
    response_body,
)
from authsite.platform.http.bodies import MaybeEmpty
from authsite.platform.http.errors import DENIED, ApiError
from authsite.platform.rate_limit.errors import TooManyAttempts
from authsite.platform.request_state import Request
from authsite.users.caller import caller_of

from .clients.authentication import AuthenticatedClient, ClientCredentials, enabled, identify
from .errors import (
    ACCESS_TOKEN,
    MAX_TOKEN,
    REFRESH_TOKEN,
    ClientBody,
    InvalidClient,
    ParametersInQuery,
    TwoClientAuthentications,
)
from .grants import table as grants
from .grants.grant import GrantBody
from .grants.token_parameters import ERRORS, TokenParameters
from .introspection_reasons import Inactive
from .logout import AT_LOGOUT
from .tokens import introspection, revocation
from .tokens.format import BearerToken, TokenPair
from .tokens.introspection import IntrospectionAnswer


class PresentedToken(ClientBody):
    description = "A token, and the client that presents it (RFC 7662, 2.1; RFC 7009, 2.1)."

    token: Annotated[str, Field(min_length=1, max_length=MAX_TOKEN, examples=[ACCESS_TOKEN])]
    """An access token or a refresh token."""
    token_type_hint: Annotated[MaybeEmpty | None, Field(examples=["access_token"])] = None
    """`access_token` or `refresh_token`. It makes no difference: tokens tell what they are."""


@response_body("An access token, and the refresh token that renews it (RFC 6749, section 5.1).")
class TokenAnswer(TypedDict):
    token_type: Literal["Bearer"]
    """How to send the access token: `Authorization: Bearer <access_token>`."""
    expires_in: Annotated[int, Field(ge=0, examples=[3600])]
    """The remaining lifetime of the access token in seconds."""
    access_token: Annotated[str, Field(pattern="^at_[A-Za-z0-9_-]+$", examples=[ACCESS_TOKEN])]
    """For the guarded endpoints; opaque to the client."""
    refresh_token: Annotated[str, Field(pattern="^rt_[A-Za-z0-9_-]+$", examples=[REFRESH_TOKEN])]
    """Valid for one refresh, which returns the next one."""
    scope: NotRequired[str]
    """The granted scopes, if they differ from the requested ones."""
    id_token: NotRequired[Annotated[str, Field(examples=["eyJhbGciOiJSUzI1NiJ9.e30.AA"])]]
    """Who has signed in, for the client (OpenID Connect Core 1.0, section 2); with the scope
    `openid` of an authorization code."""
    recovery_codes: NotRequired[list[str]]
    """After a second factor was added at a login: codes that each stand for it once. Show them to
    the user, who finds them nowhere else."""


@response_body("The token is not active, or not any more. The client ignores the body.")
class Revoked(TypedDict):
    """Empty: RFC 7009, section 2.2, gives the body no meaning."""


@response_body("The token is revoked.")
class LoggedOut(TypedDict):
    message: Annotated[str, Field(examples=["Token revoked successfully."])]
    """Human-readable."""


def token_response(pair: TokenPair, requested_scope: str | None) -> TokenAnswer:
    """The token response (RFC 6749, section 5.1); ``scope`` only if it differs from the request."""
    response: TokenAnswer = {
        "token_type": "Bearer",
        "expires_in": pair.expires_in,
        "access_token": pair.access_token,
        "refresh_token": pair.refresh_token,
    }
    if set(pair.scope.split()) != set((requested_scope or "").split()):
        response["scope"] = pair.scope
    if pair.id_token is not None:
        response["id_token"] = pair.id_token
    if pair.recovery_codes:
        response["recovery_codes"] = list(pair.recovery_codes)
    return response


@view_config(
    route_name="authsite.oauth.token",
    request_method="POST",
    body=TokenParameters,
    renderer="json",
    permission=NO_PERMISSION_REQUIRED,
)
@Operation(
    "Issue tokens by a code, a password, client credentials or a refresh token",
    {200: TokenAnswer},
    description=(
        "All parameters belong in the form body. A client of type `password` logs users in, and "
        "one of type `personal` acts for itself; clients of the other types redeem the code of a "
        "sign-in. All of them can refresh. A refresh uses up the refresh token and returns the "
        "next one. If a used one is sent again, or a used code, all tokens of the login are "
        "revoked."
    ),
    errors=(
        InvalidClient(headers={"WWW-Authenticate": 'Basic realm="authsite"'}),
        *ERRORS,
        TwoClientAuthentications,
        ParametersInQuery,
        TooManyAttempts(60),
    ),
    credentials=CLIENT_BASIC,
)
def token(request: Request) -> TokenAnswer:
    """Authenticate the client and execute the grant (RFC 6749, section 3.2)."""
    body: GrantBody = request.authsite.validated
    reject_query(request)
    ctx = request.authsite.ctx
    grant = grants.find(ctx, body.grant_type)
    found = identify(ctx, credentials_of(request, body), grant.find(ctx, body))
    with naming_client(found.id):
        return token_response(grants.execute(ctx, grant, found, body), body.scope)


_PRESENTED_TOKEN_ERRORS = (
    InvalidClient(headers={"WWW-Authenticate": 'Basic realm="authsite"'}),
    TwoClientAuthentications,
    ParametersInQuery,
    TooManyAttempts(60),
)


@view_config(
    route_name="authsite.oauth.introspect",
    request_method="POST",
    body=PresentedToken,
    renderer="json",
    permission=NO_PERMISSION_REQUIRED,
)
@Operation(
    "Introspect a token",
    {200: IntrospectionAnswer},
    description=(
        "Whether a token is active, and for whom it acts (RFC 7662). A client sees its own tokens; "
        "a client of type `resource-server` sees the tokens for its resource, access tokens of "
        "first parties that are for no resource, and personal access tokens. Any other token is "
        "inactive, and the response then has only `active`."
    ),
    errors=_PRESENTED_TOKEN_ERRORS,
    credentials=CLIENT_BASIC,
)
def introspect(request: Request) -> IntrospectionAnswer:
    """Authenticate the client and report the state of the token."""
    body: PresentedToken = request.authsite.validated
    reject_query(request)
    credentials = credentials_of(request, body)
    try:
        return introspection.introspect(request.authsite.ctx, credentials, body.token)
    except Inactive as inactive:
        request.environ[DENIED] = inactive
        return {"active": False}


@view_config(
    route_name="authsite.oauth.revoke",
    request_method="POST",
    body=PresentedToken,
    renderer="json",
    permission=NO_PERMISSION_REQUIRED,
)
@Operation(
    "Revoke a token",
    {200: Revoked},
    description=(
        "Revokes all tokens of the login that the token belongs to (RFC 7009), if it was issued to "
        "this client. The response is the same for a token of another client and for one that is "
        "unknown or revoked already, and nothing changes."
    ),
    errors=_PRESENTED_TOKEN_ERRORS,
    credentials=CLIENT_BASIC,
)
def revoke(request: Request) -> Revoked:
    """Authenticate the client and revoke the family of the token."""
    body: PresentedToken = request.authsite.validated
    reject_query(request)
    client = client_of(request, body)
    try:
        revocation.revoke(request.authsite.ctx, client, body.token)
    except Inactive as inactive:
        request.environ[DENIED] = inactive
    return {}


@contextmanager
def naming_client(client_id: UUID) -> Iterator[None]:
    """An error of the block says which client it is about, for the log and ``explain``."""
    try:
        yield
    except ApiError as error:
        error.client_id = error.client_id or client_id
        raise


def reject_query(request: Request) -> None:
    """Raise `ParametersInQuery` if the address has a query."""
    if request.query_string:
        raise ParametersInQuery


def client_of(request: Request, body: ClientBody) -> AuthenticatedClient:
    """The client that authenticated or is public; raises the errors of `authenticate_request`."""
    ctx = request.authsite.ctx
    return identify(ctx, credentials_of(request, body), enabled(ctx)).client


def credentials_of(request: Request, body: ClientBody) -> ClientCredentials:
    """What the request has to authenticate its client with."""
    authorization: str = request.environ.get("HTTP_AUTHORIZATION", "")
    return ClientCredentials(authorization, body.client_id, body.client_secret)


@view_config(
    route_name="authsite.logout",
    request_method="DELETE",
    renderer="json",
    personal_token=True,
    any_client=True,
)
@view_config(
    route_name="authsite.logout.bare",
    request_method="DELETE",
    renderer="json",
    personal_token=True,
    any_client=True,
)
@Operation(
    "Log out: revoke the token of the request",
    {200: LoggedOut},
    headers={
        200: {
            "Set-Cookie": ResponseHeader(
                "Deletes the refresh cookie of each proxy, and on https its witness.",
                "refreshToken=; Max-Age=0; Path=/v1/clients/web",
                always=False,
            )
        }
    },
    description=(
        "All tokens of the same login are revoked at once, on every server, and the refresh "
        "cookies of the proxies are cleared. A personal access token revokes only itself. The path "
        "works without its last slash, too."
    ),
)
def logout(request: Request) -> LoggedOut:
    """Revoke the token family of the request; at a logout call what `config.at_logout` registered.

    A personal access token is revoked alone.
    """
    caller = caller_of(request)
    if isinstance(caller.token, BearerToken):
        user_id = caller.account.id if caller.account else None
        revocation.log_out(request.authsite.ctx, caller.token, user_id, caller.client_uuid)
    if not caller.personal_token:  # which says nothing about the logins of this browser
        for forget in AT_LOGOUT.of(request.authsite.services).values():
            forget(request)
    return {"message": "Token revoked successfully."}
