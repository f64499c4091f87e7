"""Login and refresh for your own applications; the server adds the client's credentials."""

from collections.abc import Mapping
from typing import Annotated, ClassVar

from pydantic import Field
from pyramid.security import NO_PERMISSION_REQUIRED
from pyramid.view import view_config

from authsite.http.answers import REFRESH_COOKIE, Parameters, answers
from authsite.http.bodies import Body, MaybeEmpty, Password
from authsite.login.identifiers import counting_key
from authsite.oauth import grants
from authsite.oauth.api import REFRESH_TOKEN, TokenAnswer, desk, token_answer
from authsite.oauth.clients import authenticate
from authsite.oauth.desk import TokenRequest
from authsite.oauth.errors import InvalidClient, InvalidGrant, InvalidScope, UnauthorizedClient
from authsite.throttle import device
from authsite.throttle.errors import TooManyAttempts

from . import cookie
from .errors import ForeignOrigin, NoRefreshToken, UnknownProxy, WhichIdentifier

Name = Annotated[str, Field(max_length=320)]
TokenText = Annotated[str, Field(max_length=512)]


class LoginBody(Body):
    """``username``, or one field named as an enabled identifier, and the password."""

    examples: ClassVar[Mapping[str, Mapping[str, str]]] = {
        "a user logs in": {
            "username": "ann@example.com",
            "password": "correct-horse-battery-staple",
        },
    }

    username: Name | None = None
    """The login name, of any kind that is enabled."""
    email: Name | None = None
    """Instead of `username`, where e-mail addresses are enabled."""
    phone: Name | None = None
    """Instead of `username`, where phone numbers are enabled."""
    password: Password
    """The user's password."""
    scope: MaybeEmpty | None = None
    """Scopes, separated by blanks. Without any: the client's default."""


class RefreshBody(Body):
    """The refresh token; without it the cookie is used."""

    examples: ClassVar[Mapping[str, Mapping[str, str]]] = {
        "by cookie": {},
        "by parameter": {"refresh_token": REFRESH_TOKEN},
    }

    refresh_token: TokenText | None = None
    """The refresh token. It wins over the cookie."""
    scope: MaybeEmpty | None = None
    """Fewer scopes than now, separated by blanks. Without any: what was granted."""


class ClientPath(Parameters):
    """Which first-party client."""

    client: Annotated[str, Field(examples=["web"])]
    """The client's name in the settings."""


# What the configured credentials may be refused for.
_CLIENT_ERRORS = (UnknownProxy, InvalidClient, UnauthorizedClient, TooManyAttempts(60))


@view_config(
    route_name="authsite.proxy.login",
    request_method="POST",
    body=LoginBody,
    renderer="json",
    permission=NO_PERMISSION_REQUIRED,
)
@view_config(
    route_name="authsite.proxy.users_login",
    request_method="POST",
    body=LoginBody,
    renderer="json",
    permission=NO_PERMISSION_REQUIRED,
)
@answers(
    {200: TokenAnswer},
    errors=(
        WhichIdentifier("Send the login name in exactly one of these fields: username."),
        InvalidGrant,
        InvalidScope,
        *_CLIENT_ERRORS,
    ),
    path=ClientPath,
)
def login(request):
    """Log a user in for a first-party client, whose credentials the server adds.

    The refresh token also becomes the cookie `refreshToken`, which scripts cannot read and which
    is sent only to the routes of this client, by pages of the same site.
    """
    given = request.given
    client = _client(request)
    name, kinds = _identifier(request)
    asked = TokenRequest(given.scope, name, given.password, kinds=kinds)
    pair = grants.run("password", desk(request), client, asked)
    cookie.set_cookie(request, pair.refresh_token)
    cfg = request.cfg
    device.set_cookie(request, counting_key(name, kinds or cfg.login_identifiers, cfg.phone_region))
    return token_answer(pair, given.scope)


@view_config(
    route_name="authsite.proxy.refresh",
    request_method="POST",
    body=RefreshBody,
    renderer="json",
    permission=NO_PERMISSION_REQUIRED,
)
@answers(
    {200: TokenAnswer},
    errors=(NoRefreshToken, InvalidGrant, InvalidScope, ForeignOrigin, *_CLIENT_ERRORS),
    credentials=REFRESH_COOKIE,
    path=ClientPath,
)
def refresh(request):
    """Renew the tokens for a first-party client, by cookie or by parameter.

    By cookie it is only for our own pages and for origins in `cors-origins`; without an `Origin`
    header, send `Content-Type: application/json`. The cookie is replaced.
    """
    given = request.given
    client = _client(request)
    token = given.refresh_token or cookie.token_from(request)
    if not token:
        raise NoRefreshToken
    asked = TokenRequest(given.scope, refresh_token=token)
    pair = grants.run("refresh_token", desk(request), client, asked)
    cookie.set_cookie(request, pair.refresh_token)
    return token_answer(pair, given.scope)


def _client(request):
    configured = request.cfg.clients.get(request.matchdict["client"].replace("-", "_"))
    if configured is None:
        raise UnknownProxy
    return authenticate(request.database, configured.id, configured.secret)


def _identifier(request):
    """The login name that was sent, and which kinds of identifier it may be."""
    given, enabled = request.given, request.cfg.login_identifiers
    named = {kind: getattr(given, kind) for kind in enabled if getattr(given, kind)}
    if given.username:
        # The general field: any enabled identifier, whether or not usernames are one of them.
        named = {"username": given.username, **named}
    if len(named) != 1:
        fields = ", ".join(dict.fromkeys(("username", *enabled)))
        raise WhichIdentifier(f"Send the login name in exactly one of these fields: {fields}.")
    [(field, name)] = named.items()
    return name, None if field == "username" else (field,)
