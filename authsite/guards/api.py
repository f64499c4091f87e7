"""Forward auth: the views that a reverse proxy asks before it passes a request on."""

from typing import Annotated, Literal

from pydantic import Field
from pyramid.response import Response
from pyramid.security import NO_PERMISSION_REQUIRED
from pyramid.view import view_config

from authsite.http.api_metadata import Operation, Parameters
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
from .forward_auth import identity, login_page, requirements
from .policy import accept, require
from .route_options import Guards
from .session import accepts_json

_HEADERS = (
    "The headers of a 204 response are `X-Auth-User` (the id of the user), `X-Auth-Email`, "
    "`X-Auth-Client` (the id of the client) and `X-Auth-Scope` (separated by blanks); without a "
    "value, a header is empty. In the e-mail address, `%` and characters that are not ASCII are "
    "percent-encoded UTF-8."
)
_PAGE = (
    "The page to return to is read from `X-Forwarded-Proto`, `-Host` and `-Uri`, or from "
    "`X-Original-URL`, of a trusted proxy."
)


class ApiQuery(Parameters):
    """Query of forward auth with a token."""

    scope: Annotated[str | None, Field(examples=["reports:read"])] = None
    """The scopes that the token must have, separated by blanks."""
    verified: Literal["1", "true"] | None = None
    """Accept only users who have confirmed the e-mail address."""


class WebQuery(Parameters):
    """Query of forward auth with a browser session."""

    verified: Literal["1", "true"] | None = None
    """Accept only users who have confirmed the e-mail address."""
    redirect: Literal["1", "true"] | None = None
    """Redirect a browser that is not signed in to the login page."""


@view_config(route_name="authsite.guard.api", request_method="GET", personal_token=True)
@Operation(
    "Let a proxy check an access token",
    {204: None},
    description=_HEADERS,
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
    return Response(status=204, headerlist=identity(caller))


@view_config(
    route_name="authsite.guard.web", request_method="GET", permission=NO_PERMISSION_REQUIRED
)
@Operation(
    "Let a proxy check a browser session",
    {204: None, 302: None},
    description=(
        f"{_HEADERS} A 401 response has the URL of the login page in `X-Auth-Login-Url`; with "
        f"`redirect=1`, browsers are redirected to it (302), and scripts still get 401. {_PAGE}"
    ),
    errors=(
        InvalidRequirement,
        NotSignedIn,
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
    return Response(status=204, headerlist=identity(caller))
