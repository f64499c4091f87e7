"""The JSON views of the proxy endpoints: login and refresh of first-party clients."""

from collections.abc import Mapping, Sequence
from typing import Annotated, ClassVar

from pydantic import Field
from pyramid.security import NO_PERMISSION_REQUIRED
from pyramid.view import view_config

from authsite.oauth.api import TokenAnswer, token_response
from authsite.oauth.errors import (
    REFRESH_TOKEN,
    InvalidClient,
    InvalidGrant,
    InvalidScope,
    Name,
    TokenText,
    UnauthorizedClient,
)
from authsite.oauth.mfa.service import MfaRequired
from authsite.oauth.tokens.format import TokenPair
from authsite.platform.http.api_metadata import (
    REFRESH_COOKIE,
    Operation,
    Parameters,
    ResponseHeader,
)
from authsite.platform.http.bodies import Body, MaybeEmpty, Password
from authsite.platform.rate_limit import device_cookie
from authsite.platform.rate_limit.errors import TooManyAttempts
from authsite.platform.request_state import Request
from authsite.platform.settings import Settings

from . import service
from .service import (
    ForeignOrigin,
    NoRefreshToken,
    OneIdentifierRequired,
    UnfitRefreshCookie,
    UnknownProxy,
)


class LoginBody(Body):
    description = "`username` or one field named like an enabled identifier, and the password."

    examples: ClassVar[Mapping[str, Mapping[str, str]]] = {
        "a user logs in": {
            "username": "ann@example.com",
            "password": "correct-horse-battery-staple",
        },
    }

    username: Name | None = None
    """The login name, of any kind that is enabled."""
    email: Annotated[str, Field(max_length=254)] | None = None
    """Instead of `username`, where e-mail addresses are enabled."""
    phone: Name | None = None
    """Instead of `username`, where phone numbers are enabled."""
    password: Password
    """The user's password."""
    otp: Annotated[str, Field(max_length=64, examples=["123456"])] = ""
    """A code of the user's authenticator app, or a recovery code. It is read only if the password
    is right and a second step is needed."""
    scope: MaybeEmpty | None = None
    """Scopes, separated by spaces. The default is the client's."""


class RefreshBody(Body):
    description = "The refresh token. By default, the one in the cookie is used."

    examples: ClassVar[Mapping[str, Mapping[str, str]]] = {
        "by cookie": {},
        "by parameter": {"refresh_token": REFRESH_TOKEN},
    }

    refresh_token: TokenText | None = None
    """The refresh token. It takes precedence over the cookie."""
    scope: MaybeEmpty | None = None
    """A subset of the granted scopes, separated by spaces. The default is all of them."""


class ClientPath(Parameters):
    """Path below one first-party client."""

    client: Annotated[str, Field(examples=["web"])]
    """The client's name in the settings."""

    @classmethod
    def choices(cls, cfg: Settings) -> Mapping[str, Sequence[str]]:
        """The configured names; `web`, which `authsite init` makes, comes first."""
        return {"client": sorted(cfg.clients, key=lambda name: (name != "web", name))}


COOKIES = {
    "Set-Cookie": ResponseHeader(
        "The refresh cookie, and on https its witness `__Host-authsite-refresh-<client>`; a login "
        "sets the cookie of a recognized browser as well.",
        "refreshToken=rt_EjRWeJCrze8SNFZ4kKvN7xI; Max-Age=2592000; Path=/v1/clients/web; secure; "
        "HttpOnly; SameSite=Strict",
    )
}
# Errors of the configured credentials.
CLIENT_ERRORS = (UnknownProxy, InvalidClient, UnauthorizedClient)


@view_config(
    route_name="authsite.proxy.login",
    request_method="POST",
    cross_site_error=ForeignOrigin,
    body=LoginBody,
    renderer="json",
    permission=NO_PERMISSION_REQUIRED,
)
@view_config(
    route_name="authsite.proxy.users_login",
    request_method="POST",
    cross_site_error=ForeignOrigin,
    body=LoginBody,
    renderer="json",
    permission=NO_PERMISSION_REQUIRED,
)
@Operation(
    "Log a user in for a first-party client, whose credentials the server adds",
    {200: TokenAnswer},
    headers={200: COOKIES},
    description=(
        "The refresh token is also set as the cookie `refreshToken`, which scripts cannot read "
        "and which browsers send only to the routes of this client, from pages of the same site. "
        "A page of another origin may log in only if its origin is in `cors-origins`."
    ),
    errors=(
        OneIdentifierRequired(["username"]),
        InvalidGrant,
        MfaRequired,
        InvalidScope,
        ForeignOrigin,
        TooManyAttempts(60),
        *CLIENT_ERRORS,
    ),
    path=ClientPath,
)
def login(request: Request) -> TokenAnswer:
    """Log in with the configured client; set the refresh cookies and the device cookie."""
    ctx = request.authsite.ctx
    body: LoginBody = request.authsite.validated
    client = service.authenticate_configured(ctx, request.matchdict["client"])
    identifiers = {"username": body.username, "email": body.email, "phone": body.phone}
    pair = service.log_in(ctx, client, identifiers, body.password, body.scope, body.otp)
    return logged_in(request, pair, body.scope)


def logged_in(request: Request, pair: TokenPair, requested_scope: str | None) -> TokenAnswer:
    """The answer to a login that is complete, with its cookies."""
    service.set_cookies(request, pair.refresh_token)
    device_cookie.set_cookie(request)
    return token_response(pair, requested_scope)


@view_config(
    route_name="authsite.proxy.refresh",
    request_method="POST",
    cross_site_error=ForeignOrigin,
    body=RefreshBody,
    renderer="json",
    permission=NO_PERMISSION_REQUIRED,
)
@Operation(
    "Renew the tokens for a first-party client, by cookie or by parameter",
    {200: TokenAnswer},
    headers={200: COOKIES},
    description=(
        "For our own pages, for origins in `cors-origins`, and for programs other than browsers. "
        "With the cookie and without an `Origin` header, send `Content-Type: application/json`. "
        "On https the cookie counts only with its witness, the cookie "
        "`__Host-authsite-refresh-<client>`, which a login sets with it. Both are replaced."
    ),
    errors=(
        NoRefreshToken,
        UnfitRefreshCookie,
        InvalidGrant,
        InvalidScope,
        ForeignOrigin,
        *CLIENT_ERRORS,
    ),
    credentials=REFRESH_COOKIE,
    path=ClientPath,
)
def refresh(request: Request) -> TokenAnswer:
    """Refresh with the token of the body, else of the cookie; set the new refresh cookies."""
    ctx = request.authsite.ctx
    body: RefreshBody = request.authsite.validated
    client = service.authenticate_configured(ctx, request.matchdict["client"])
    token = body.refresh_token or service.read_token(request)
    pair = service.refresh(ctx, client, token, body.scope)
    service.set_cookies(request, pair.refresh_token)
    return token_response(pair, body.scope)
