"""The proxies: token issuance with the credentials of a configured client added."""

from typing import Annotated

from pydantic import Field
from pyramid.security import NO_PERMISSION_REQUIRED
from pyramid.view import view_config

from authsite.http.bodies import Body, MaybeEmpty, Password
from authsite.oauth import grants
from authsite.oauth.api import desk, token_answer
from authsite.oauth.clients import authenticate
from authsite.oauth.desk import TokenRequest

from . import cookie
from .errors import NoRefreshToken, UnknownProxy, WhichIdentifier

Name = Annotated[str, Field(max_length=320)]
TokenText = Annotated[str, Field(max_length=512)]


class LoginBody(Body):
    """``username``, or one field named as an enabled identifier, and the password."""

    username: Name | None = None
    email: Name | None = None
    phone: Name | None = None
    password: Password
    scope: MaybeEmpty | None = None


class RefreshBody(Body):
    """The refresh token; without it the cookie is used."""

    refresh_token: TokenText | None = None
    scope: MaybeEmpty | None = None


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
def login(request):
    """Log a user in for a first-party client, whose credentials the server adds."""
    given = request.given
    client = _client(request)
    name, kinds = _identifier(request)
    asked = TokenRequest(given.scope, name, given.password, kinds=kinds)
    pair = grants.run("password", desk(request), client, asked)
    cookie.set_cookie(request, pair.refresh_token)
    return token_answer(pair, given.scope)


@view_config(
    route_name="authsite.proxy.refresh",
    request_method="POST",
    body=RefreshBody,
    renderer="json",
    permission=NO_PERMISSION_REQUIRED,
)
def refresh(request):
    """Refresh for a first-party client, by parameter or by cookie; the parameter wins."""
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
