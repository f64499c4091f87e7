"""Forward auth: the views that a reverse proxy asks before it passes a request on."""

from typing import Annotated, Literal

from pydantic import Field
from pyramid.response import Response
from pyramid.security import NO_PERMISSION_REQUIRED
from pyramid.view import view_config

from authsite.http.api_metadata import Operation, Parameters, ResponseHeader
from authsite.http.rendering import found
from authsite.request_state import Request

from .caller import Caller
from .errors import (
    EmailNotConfirmed,
    EmailNotVerified,
    InsufficientScope,
    InvalidRequirement,
    LoginPageGuarded,
    NotSignedIn,
    UserRequired,
)
from .forward_auth import acceptance, login_page, requirements
from .policy import accept, require
from .route_options import Guards
from .session import accepts_json

_IDENTITY = {
    "X-Auth-User": ResponseHeader(
        "The id of the user, or empty.", "5b6f3c0e-8f0c-4c8e-9f57-2f1d0f0a9d11"
    ),
    "X-Auth-Email": ResponseHeader(
        "The e-mail address, or empty. `%` and characters that are not ASCII are percent-encoded "
        "UTF-8.",
        "ann@example.com",
    ),
    "X-Auth-Client": ResponseHeader(
        "The id of the client, or empty.", "6f9619ff-8b86-4d01-b42d-00cf4fc964ff"
    ),
    "X-Auth-Scope": ResponseHeader("The scopes, separated by spaces, or empty.", "reports:read"),
    "Cookie": ResponseHeader(
        "With `cookies=1`: the request's cookies that are not authsite's, or empty.",
        "theme=dark",
        always=False,
    ),
}
_LOCATION = {
    "Location": ResponseHeader("The URL of the login page.", "https://id.example.org/login")
}
_PAGE = (
    "The page to return to is read from `X-Forwarded-Proto`, `-Host` and `-Uri`, or from "
    "`X-Original-URL`, of a trusted proxy."
)


class ApiQuery(Parameters):
    """Query of forward auth with a token."""

    scope: Annotated[str | None, Field(examples=["reports:read"])] = None
    """The scopes that the token must have, separated by spaces."""
    verified: Literal["1", "true"] | None = None
    """Accept only users who have confirmed the e-mail address."""
    cookies: Literal["1", "true"] | None = None
    """Answer with the request's cookies that are not authsite's."""


class WebQuery(Parameters):
    """Query of forward auth with a browser session."""

    verified: Literal["1", "true"] | None = None
    """Accept only users who have confirmed the e-mail address."""
    redirect: Literal["1", "true"] | None = None
    """Redirect a browser that is not signed in to the login page."""
    cookies: Literal["1", "true"] | None = None
    """Answer with the request's cookies that are not authsite's."""


@view_config(route_name="authsite.guard.api", request_method="GET", personal_token=True)
@Operation(
    "Let a proxy check an access token",
    {204: None},
    headers={204: _IDENTITY},
    errors=(
        InvalidRequirement,
        InsufficientScope("reports:read"),
        UserRequired,
        EmailNotVerified,
        EmailNotConfirmed,
    ),
    query=ApiQuery,
)
def guard_api(request: Request) -> Response:
    """The route's guard has checked the token; what the query requires is checked here."""
    required = requirements("api", request.query_string, request.authsite.settings)
    caller = require(request, required.rules)
    return acceptance(request, caller, required)


@view_config(
    route_name="authsite.guard.web", request_method="GET", permission=NO_PERMISSION_REQUIRED
)
@Operation(
    "Let a proxy check a browser session",
    {204: None, 302: None},
    headers={204: _IDENTITY, 302: _LOCATION},
    description=(
        f"A 401 response has the URL of the login page in `X-Auth-Login-Url`; with "
        f"`redirect=1`, browsers are redirected to it (302), and scripts still get 401. {_PAGE}"
    ),
    errors=(
        InvalidRequirement,
        NotSignedIn(headers={"X-Auth-Login-Url": "https://id.example.org/login"}),
        EmailNotVerified,
        EmailNotConfirmed,
        LoginPageGuarded,
    ),
    query=WebQuery,
)
def guard_web(request: Request) -> Response:
    """The route has no guard, whose redirect would lead back to this address."""
    required = requirements("web", request.query_string, request.authsite.settings)

    def authenticate(request: Request) -> Caller:
        if request.authsite.signed_in is not None:
            return request.authsite.signed_in
        login = login_page(request)
        if required.redirect and not accepts_json(request):
            raise found(request, login)
        raise NotSignedIn(headers={"X-Auth-Login-Url": login})

    guards: Guards = request.registry["authsite.guards"]
    guard = guards.by_name["web"]._replace(authenticate=authenticate)
    caller = accept(request, guard, required.rules)
    return acceptance(request, caller, required)
