"""The JSON views of the token endpoint and of logout, and the token response."""

from collections.abc import Mapping
from typing import Annotated, ClassVar, Literal, NotRequired

from pydantic import Field
from pyramid.security import NO_PERMISSION_REQUIRED
from pyramid.view import view_config
from typing_extensions import TypedDict

from authsite.guards.caller import caller_of
from authsite.http.api_metadata import CLIENT_BASIC, Operation, response_body
from authsite.http.bodies import Body, MaybeEmpty
from authsite.rate_limit.errors import TooManyAttempts
from authsite.request_state import Request

from . import families, grants
from .client_auth import authenticate_request
from .errors import (
    InvalidClient,
    InvalidGrant,
    InvalidScope,
    MissingParameter,
    ParametersInQuery,
    TwoClientAuthentications,
    UnauthorizedClient,
    UnsupportedGrantType,
)
from .token_request import TokenRequest
from .tokens import TokenPair

# Examples in the API document.
ACCESS_TOKEN = "at_q83vEjRWeJCrze8SNFZ4kKvN"
REFRESH_TOKEN = "rt_EjRWeJCrze8SNFZ4kKvN7xI"

Name = Annotated[str, Field(max_length=320)]
Secret = Annotated[str, Field(max_length=4096, json_schema_extra={"format": "password"})]
TokenText = Annotated[str, Field(max_length=512)]


class TokenBody(Body):
    description = "The parameters of the token endpoint (RFC 6749, sections 4.3, 4.4 and 6)."

    form_only: ClassVar[bool] = True

    examples: ClassVar[Mapping[str, Mapping[str, str]]] = {
        "a user logs in": {
            "grant_type": "password",
            "username": "ann@example.com",
            "password": "correct-horse-battery-staple",
        },
        "a machine acts for itself": {"grant_type": "client_credentials"},
        "the tokens are renewed": {"grant_type": "refresh_token", "refresh_token": REFRESH_TOKEN},
    }

    grant_type: Annotated[str, Field(min_length=1, max_length=1024, examples=["password"])]
    """`password`, `client_credentials` or `refresh_token`."""
    client_id: MaybeEmpty | None = None
    """The client's id, unless it comes by HTTP Basic."""
    client_secret: MaybeEmpty | None = None
    """The client's secret, unless it comes by HTTP Basic."""
    scope: MaybeEmpty | None = None
    """Scopes, separated by blanks. The default is the client's, or the granted scope."""
    username: Name | None = None
    """Grant `password`: the user's e-mail address, or another login name that is enabled."""
    password: Secret | None = None
    """Grant `password`: the user's password."""
    refresh_token: TokenText | None = None
    """Grant `refresh_token`: the newest refresh token of this login."""


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
    return response


@view_config(
    route_name="authsite.oauth.token",
    request_method="POST",
    body=TokenBody,
    renderer="json",
    permission=NO_PERMISSION_REQUIRED,
)
@Operation(
    "Issue tokens by the grant named in `grant_type`",
    {200: TokenAnswer},
    description=(
        "All parameters belong in the form body. A client of type `password` logs users in, and "
        "one of type `personal` acts for itself; both can refresh. A refresh uses up the refresh "
        "token and returns the next one. If a used one is sent again, all tokens of the login are "
        "revoked."
    ),
    errors=(
        InvalidClient(headers={"WWW-Authenticate": 'Basic realm="authsite"'}),
        InvalidGrant,
        UnsupportedGrantType,
        UnauthorizedClient,
        InvalidScope,
        MissingParameter("username and password"),
        TwoClientAuthentications,
        ParametersInQuery,
        TooManyAttempts(60),
    ),
    credentials=CLIENT_BASIC,
)
def token(request: Request) -> TokenAnswer:
    """Authenticate the client and execute the grant (RFC 6749, section 3.2)."""
    body: TokenBody = request.authsite.validated
    if request.query_string:
        raise ParametersInQuery
    ctx, grant = request.authsite.ctx, grants.find(body.grant_type)
    authorization = request.headers.get("Authorization", "")
    client = authenticate_request(ctx, authorization, body.client_id, body.client_secret)
    parameters = TokenRequest(body.scope, body.username, body.password, body.refresh_token)
    return token_response(grants.execute(ctx, grant, client, parameters), body.scope)


@view_config(route_name="authsite.logout", request_method="DELETE", renderer="json")
@view_config(route_name="authsite.logout.slash", request_method="DELETE", renderer="json")
@Operation(
    "Log out: revoke the token of the request",
    {200: LoggedOut},
    description=(
        "All tokens of the same login are revoked at once, on every server, and the refresh "
        "cookies of the proxies are cleared."
    ),
)
def logout(request: Request) -> LoggedOut:
    """Revoke the token family of the request, and call what `config.at_logout` registered."""
    caller = caller_of(request)
    if caller.family_uuid:
        user_id = caller.account.id if caller.account else None
        families.log_out(
            request.authsite.ctx, caller.family_uuid, user_id=user_id, client_id=caller.client_uuid
        )
    for forget in request.authsite.services.extensions.at_logout:
        forget(request)
    return {"message": "Token revoked successfully."}
