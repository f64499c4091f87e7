"""Forward auth: the views that a reverse proxy asks before it passes a request on."""

from typing import Annotated, Literal

from pydantic import Field
from pyramid.httpexceptions import HTTPException
from pyramid.response import Response
from pyramid.security import NO_PERMISSION_REQUIRED
from pyramid.view import view_config

from authsite.platform.http.api_metadata import Operation, Parameters, ResponseHeader
from authsite.platform.http.errors import ApiError
from authsite.platform.http.rendering import found
from authsite.platform.request_state import Request
from authsite.sign_in.errors import InsufficientUserAuthentication
from authsite.users.caller import Caller
from authsite.users.errors import UserRequired

from .errors import (
    AddressNotConfirmed,
    ClientRequired,
    EmailNotConfirmed,
    EmailNotVerified,
    GroupRequired,
    InsufficientScope,
    InvalidRequirement,
    LoginPageGuarded,
    LoginRequired,
    NotAuthenticated,
    NotSignedIn,
)
from .forward_auth import (
    Requirements,
    acceptance,
    confirmation_page,
    login_page,
    requirements,
    verify_page,
)
from .policy import accept, chosen, find_session, offer_token
from .route_options import ANY, Guard, Rules
from .session import asks_for_page

_IDENTITY = {
    "X-Auth-User": ResponseHeader(
        "The id of the user, or empty.", "5b6f3c0e-8f0c-4c8e-9f57-2f1d0f0a9d11"
    ),
    "X-Auth-Email": ResponseHeader(
        "The e-mail address if the user has confirmed it, else empty. `%` and characters that are "
        "not ASCII are percent-encoded UTF-8.",
        "ann@example.com",
    ),
    "X-Auth-Email-Verified": ResponseHeader(
        "`true` if the user has confirmed the e-mail address, else `false`; empty without a user.",
        "true",
    ),
    "X-Auth-Client": ResponseHeader(
        "The id of the client, or empty.", "6f9619ff-8b86-4d01-b42d-00cf4fc964ff"
    ),
    "X-Auth-Scope": ResponseHeader("The scopes, separated by spaces, or empty.", "reports:read"),
    "X-Auth-Groups": ResponseHeader(
        "The groups of the user, separated by commas, or empty.", "finance,ops"
    ),
    "X-Auth-Acr": ResponseHeader(
        "The level of the sign-in, `aal1`, `aal2` or `phr`; empty without a sign-in of a user.",
        "aal2",
    ),
    "X-Auth-Amr": ResponseHeader(
        "How the user proved to be who they are (RFC 8176), separated by spaces, or empty.",
        "pwd otp mfa",
    ),
    "X-Auth-Time": ResponseHeader(
        "When the user last proved to be who they are, in seconds since 1970; empty without a "
        "sign-in of a user.",
        "1767222000",
        may_be_empty=True,
    ),
    "Cookie": ResponseHeader(
        "With `cookies=1`: the request's cookies that are not authsite's, or empty.",
        "theme=dark",
        always=False,
    ),
}
_LOCATION = {
    "Location": ResponseHeader(
        "The URL of the login page, or of the page that mails a link to confirm the address.",
        "https://id.example.org/login",
    )
}
_LOGIN_URL = "X-Auth-Login-Url"
_PAGE = (
    "The page to return to is read from `X-Forwarded-Proto`, `-Host` and `-Uri`, or from "
    "`X-Original-URL`, of a trusted proxy."
)


Acr = Annotated[Literal["aal2", "phr"], Field(examples=["aal2"])]
Fresh = Annotated[str, Field(examples=["10m"])]


class ApiQuery(Parameters):
    """Query of forward auth with a token."""

    scope: Annotated[str | None, Field(examples=["reports:read"])] = None
    """The scopes that the token must have, separated by spaces."""
    caller: Literal["user", "client", "any"] | None = None
    """Whose token is accepted: that of a user, that of a client that acts for itself, or any."""
    verified: Literal["1", "true"] | None = None
    """Accept only users who have confirmed the e-mail address; clients only with `caller=any`."""
    group: Annotated[str | None, Field(examples=["ops"])] = None
    """Accept only the members of this group, and no client."""
    acr: Acr | None = None
    """Accept only sign-ins of at least this level."""
    fresh: Fresh | None = None
    """Accept only users who proved less than this long ago to be who they are."""
    cookies: Literal["1", "true"] | None = None
    """Answer with the request's cookies that are not authsite's."""


class WebQuery(Parameters):
    """Query of forward auth with a browser session."""

    verified: Literal["1", "true"] | None = None
    """Accept only users who have confirmed the e-mail address."""
    redirect: Literal["1", "true"] | None = None
    """Redirect a browser that asks for a page to the login page, or to the page that mails a link
    to confirm the address."""
    anonymous: Literal["1", "true"] | None = None
    """Accept a request without a session, too: all headers are then empty. Only `cookies` may stand
    beside it."""
    group: Annotated[str | None, Field(examples=["ops"])] = None
    """Accept only the members of this group, and no client."""
    acr: Acr | None = None
    """Accept only sign-ins of at least this level."""
    fresh: Fresh | None = None
    """Accept only users who proved less than this long ago to be who they are."""
    cookies: Literal["1", "true"] | None = None
    """Answer with the request's cookies that are not authsite's."""


class AnyQuery(WebQuery):
    """Query of forward auth with either."""

    verified: Literal["1", "true"] | None = None
    """Accept only users who have confirmed the e-mail address; clients only with `caller=any`."""
    redirect: Literal["1", "true"] | None = None
    """Redirect a browser that asks for a page, without a token, to the login page, or to the page
    that mails a link to confirm the address."""
    anonymous: Literal["1", "true"] | None = None
    """Accept a request with neither, too: all headers are then empty. Only `cookies` may stand
    beside it."""
    scope: Annotated[str | None, Field(examples=["reports:read"])] = None
    """The scopes that a token must have, separated by spaces."""
    caller: Literal["user", "any"] | None = None
    """Whose token is accepted: that of a user, or also that of a client that acts for itself."""


@view_config(
    route_name="authsite.guard.api",
    request_method="GET",
    permission=NO_PERMISSION_REQUIRED,
    personal_token=True,
)
@Operation(
    "Let a proxy check an access token",
    {204: None},
    headers={204: _IDENTITY},
    errors=(
        InvalidRequirement,
        InsufficientScope("reports:read"),
        UserRequired,
        ClientRequired,
        EmailNotVerified,
        EmailNotConfirmed,
        GroupRequired,
        LoginRequired,
        InsufficientUserAuthentication(acr_values="aal2"),
    ),
    query=ApiQuery,
)
def guard_api(request: Request) -> Response:
    """Read the query first: a misspelled requirement is an error whatever the credential."""
    required = requirements("api", request.query_string, request.authsite.settings)
    return _by_token(request, required.rules, required)


def _by_token(request: Request, rules: Rules, required: Requirements) -> Response:
    try:
        caller = accept(request, _guard(request, "api"), rules)
    except AddressNotConfirmed as error:
        error.headers[_LOGIN_URL] = confirmation_page(request)
        raise
    return acceptance(request, caller, required)


@view_config(
    route_name="authsite.guard.web", request_method="GET", permission=NO_PERMISSION_REQUIRED
)
@Operation(
    "Let a proxy check a browser session",
    {204: None, 302: None},
    headers={204: _IDENTITY, 302: _LOCATION},
    description=(
        "A 401 response has the URL of the login page in `X-Auth-Login-Url`, or of the page that "
        "asks for a further proof where the sign-in is not enough; a 403 response to a "
        "user who has to confirm the address has the URL of the page that mails a link. With "
        "`redirect=1`, a browser that asks for a page is redirected there (302); scripts still get "
        f"the error. {_PAGE}"
    ),
    errors=(
        InvalidRequirement,
        NotSignedIn(headers={_LOGIN_URL: "https://id.example.org/login"}),
        EmailNotVerified,
        EmailNotConfirmed,
        GroupRequired,
        InsufficientUserAuthentication(acr_values="aal2"),
        LoginPageGuarded,
    ),
    query=WebQuery,
)
def guard_web(request: Request) -> Response:
    """The route has no guard, whose redirect would lead back to this address."""
    required = requirements("web", request.query_string, request.authsite.settings)
    return _by_session(request, required.rules, required)


@view_config(
    route_name="authsite.guard.any", request_method="GET", permission=NO_PERMISSION_REQUIRED
)
@Operation(
    "Let a proxy check an access token or a browser session",
    {204: None, 302: None},
    headers={204: _IDENTITY, 302: _LOCATION},
    description=(
        "With a bearer token in `Authorization` as `/v1/guard/api`, else as `/v1/guard/web`. "
        "`scope` and `caller` are about tokens alone: a browser session has no scope, and always "
        f"acts for a user. {_PAGE}"
    ),
    errors=(
        InvalidRequirement,
        NotSignedIn(
            headers={
                **NotAuthenticated(token_sent=False).headers,
                _LOGIN_URL: "https://id.example.org/login",
            }
        ),
        InsufficientScope("reports:read"),
        UserRequired,
        EmailNotVerified,
        EmailNotConfirmed,
        GroupRequired,
        LoginRequired,
        InsufficientUserAuthentication(acr_values="aal2"),
        LoginPageGuarded,
    ),
    query=AnyQuery,
)
def guard_any(request: Request) -> Response:
    """The token decides, if one is sent, also if it is not valid."""
    required = requirements(ANY, request.query_string, request.authsite.settings)
    rules = chosen(request, required.rules)
    try:
        if rules.guard == "api":
            return _by_token(request, rules, required)
        return _by_session(request, rules, required)
    except ApiError as error:
        offer_token(error)
        raise


def _by_session(request: Request, rules: Rules, required: Requirements) -> Response:
    guard = _guard(request, "web")
    if rules.anonymous:
        return acceptance(request, find_session(request, guard), required)

    def authenticate(request: Request) -> Caller:
        caller: Caller | None = request.authsite.signed_in
        if caller is not None:
            return caller
        raise _led_to(request, NotSignedIn(), login_page(request), required.redirect)

    try:
        caller = accept(request, guard, rules, authenticate)
    except AddressNotConfirmed as error:
        raise _led_to(request, error, confirmation_page(request), required.redirect) from None
    except InsufficientUserAuthentication as error:
        raise _led_to(request, error, verify_page(request, error), required.redirect) from None
    return acceptance(request, caller, required)


def _guard(request: Request, name: str) -> Guard:
    guard: Guard = request.registry["authsite.guards"].by_name[name]
    return guard


def _led_to(
    request: Request, error: ApiError, page: str, redirect: bool
) -> ApiError | HTTPException:
    """``error`` with the URL of ``page``, where the user can go on, or a redirect to it."""
    if redirect and asks_for_page(request):
        return found(request, page)
    error.headers[_LOGIN_URL] = page
    return error
