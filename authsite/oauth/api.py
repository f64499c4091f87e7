"""The token endpoint and logout."""

from collections.abc import Mapping
from typing import Annotated, ClassVar, Literal, NotRequired

from pydantic import Field
from pyramid.security import NO_PERMISSION_REQUIRED
from pyramid.view import view_config
from typing_extensions import TypedDict

from authsite import clock
from authsite.audit.service import record
from authsite.http.answers import CLIENT_BASIC, answers, exact
from authsite.http.bodies import Body, MaybeEmpty
from authsite.throttle.errors import TooManyAttempts

from . import families, grants
from .client_auth import client_of
from .desk import Desk, TokenRequest
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

# In the documentation.
ACCESS_TOKEN = "at_q83vEjRWeJCrze8SNFZ4kKvN"
REFRESH_TOKEN = "rt_EjRWeJCrze8SNFZ4kKvN7xI"

Name = Annotated[str, Field(max_length=320)]
Secret = Annotated[str, Field(max_length=4096, json_schema_extra={"format": "password"})]
TokenText = Annotated[str, Field(max_length=512)]


class TokenBody(Body):
    """The parameters of the token endpoint (RFC 6749, sections 4.3, 4.4 and 6)."""

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
    """Scopes, separated by blanks. Without any: the client's default, or what was granted."""
    username: Name | None = None
    """Grant `password`: the user's e-mail address, or another login name that is enabled."""
    password: Secret | None = None
    """Grant `password`: the user's password."""
    refresh_token: TokenText | None = None
    """Grant `refresh_token`: the newest refresh token of this login."""


@exact
class TokenAnswer(TypedDict):
    """An access token, and the refresh token that renews it (RFC 6749, section 5.1)."""

    token_type: Literal["Bearer"]
    """How to send the access token: `Authorization: Bearer <access_token>`."""
    expires_in: Annotated[int, Field(ge=0, examples=[3600])]
    """Seconds that the access token has left."""
    access_token: Annotated[str, Field(pattern="^at_[A-Za-z0-9_-]+$", examples=[ACCESS_TOKEN])]
    """For the guarded endpoints. Opaque: read nothing from it."""
    refresh_token: Annotated[str, Field(pattern="^rt_[A-Za-z0-9_-]+$", examples=[REFRESH_TOKEN])]
    """Good for one refresh, which answers with the next one."""
    scope: NotRequired[str]
    """Only where it is not what was asked for: the scopes that were granted."""


@exact
class LoggedOut(TypedDict):
    """The token is revoked."""

    message: Annotated[str, Field(examples=["Token revoked successfully."])]
    """For a person."""


def desk(request) -> Desk:
    """What the grants work with, out of the request."""
    return Desk(
        request.db,
        request.database,
        request.cfg,
        request.token_codec,
        request.passwords,
        request.login_steps,
        request.source,
        request.attempts,
        clock.now(),
    )


def token_answer(pair: families.TokenPair, asked_scope: str | None) -> TokenAnswer:
    """The token response (RFC 6749, section 5.1); ``scope`` only if it is not what was asked."""
    answer: TokenAnswer = {
        "token_type": "Bearer",
        "expires_in": pair.expires_in,
        "access_token": pair.access_token,
        "refresh_token": pair.refresh_token,
    }
    if set(pair.scope.split()) != set((asked_scope or "").split()):
        answer["scope"] = pair.scope
    return answer


@view_config(
    route_name="authsite.oauth.token",
    request_method="POST",
    body=TokenBody,
    renderer="json",
    permission=NO_PERMISSION_REQUIRED,
)
@answers(
    {200: TokenAnswer},
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
def token(request):
    """Issue tokens by the grant named in `grant_type`.

    Every parameter stands in the form body. A client of type `password` logs users in, one of
    type `personal` acts for itself; both refresh. A refresh spends the refresh token, and the
    answer carries the next one: if a spent one comes back, the whole login is revoked.
    """
    given = request.given
    if request.query_string:
        raise ParametersInQuery
    grant_type = grants.grant_named(given.grant_type)
    asked = TokenRequest(given.scope, given.username, given.password, given.refresh_token)
    pair = grants.run(grant_type, desk(request), client_of(request), asked)
    return token_answer(pair, given.scope)


@view_config(route_name="authsite.logout", request_method="DELETE", renderer="json")
@view_config(route_name="authsite.logout.slash", request_method="DELETE", renderer="json")
@answers({200: LoggedOut})
def logout(request):
    """Log out: revoke the token that was sent.

    Everything that came from the same login ends with it, at once and on every server; the
    refresh cookies of the proxies are cleared.
    """
    caller, now = request.caller, clock.now()
    if families.revoke(request.db, now, caller.family_id, "logout"):  # of racing logouts, one
        record(
            request.db, now, request.source, "token.revoked",
            user_id=caller.user.id if caller.user else None, client_id=caller.client_id,
            details={"family": str(caller.family_id), "why": "logout"},
        )  # fmt: skip
    for forget in request.registry["authsite.at_logout"]:
        forget(request)
    return {"message": "Token revoked successfully."}
