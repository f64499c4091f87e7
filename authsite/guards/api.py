"""Forward auth: the views that a reverse proxy asks before it passes a request on."""

import re
from dataclasses import dataclass
from typing import Annotated, Literal, NamedTuple
from urllib.parse import parse_qsl, quote, urlsplit

from pydantic import Field
from pyramid.httpexceptions import HTTPException
from pyramid.response import Response
from pyramid.security import NO_PERMISSION_REQUIRED
from pyramid.view import view_config

from authsite.platform.http.address import absolute, is_host
from authsite.platform.http.address_value import origin_of
from authsite.platform.http.api_metadata import Operation, Parameters, ResponseHeader
from authsite.platform.http.cookies import without_own
from authsite.platform.http.errors import ApiError
from authsite.platform.http.headers import is_original_safe
from authsite.platform.http.proxies import nearest
from authsite.platform.http.rendering import found
from authsite.platform.http.return_to import local_path, referring_url, return_target
from authsite.platform.request_state import Request
from authsite.platform.settings import Settings
from authsite.sign_in.errors import InsufficientUserAuthentication
from authsite.sign_in.login_url import confirm_url, login_url, verify_url
from authsite.users.caller import Caller
from authsite.users.errors import UserRequired
from authsite.users.groups import labels

from .bearer import asks_for_page
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
from .policy import accept, chosen, find_session, offer_token
from .route_options import ANY, ROUTE_OPTIONS, Guard, Option, Rules, age, contradiction

# Forward auth: a reverse proxy asks whether a request may pass (docs/forward-auth.md).
#
# The proxy sends the headers of the original request without its body. A 204 response lets the
# request pass, and its headers tell the application behind the proxy who the caller is.


_FLAG = Option(("1", "true").__contains__, "give 1 or true, or leave it out")
_OF_BOTH = ("verified", "group", "acr", "fresh", "cookies")
_OF_TOKENS, _OF_SESSIONS = ("scope", "caller"), ("redirect", "anonymous")
_PARAMETERS = {
    "api": (*_OF_TOKENS, *_OF_BOTH),
    "web": (*_OF_SESSIONS, *_OF_BOTH),
    "any": (*_OF_TOKENS, *_OF_SESSIONS, *_OF_BOTH),
}
_AS_ROUTES = ("scope", "caller", "group", "acr", "fresh")  # with the values of a route option
_MAX_PARAMETERS = 10
_URL = re.compile(r"(https?)://([^/?#\\]+)(/.*)?", re.IGNORECASE)
# Printable ASCII is sent as it is, except "%", which would make decoding ambiguous.
_HEADER_SAFE = "!#$&'()*+,/:;=?@[]^`{|}"
_ANONYMOUS = Caller(guard="web", account=None)


@dataclass(frozen=True, slots=True)
class Requirements:
    """What the query of a forward auth request asks for."""

    rules: Rules
    """The same rules as those of a guarded route."""
    redirect: bool = False
    """Redirect to the login page instead of responding with 401."""
    cookies: bool = False
    """Name the cookies of the request that are not authsite's."""


class _Page(NamedTuple):
    """A page of the application behind the proxy."""

    origin: str
    path: str
    """With the query."""


class _WayBack(NamedTuple):
    """Where a login leads back to."""

    page: _Page | None
    """The page of the original request."""
    target: str | None
    """``next``; None if a login may not lead there."""
    unsaved: bool
    """Whether a form was sent, which is lost."""


_PLAIN = {guard: Requirements(Rules(guard=guard)) for guard in _PARAMETERS}


def requirements(guard: str, query: str, settings: Settings) -> Requirements:
    """The requirements in a query string.

    Raises `InvalidRequirement` for a value that a route option cannot have, and for a parameter
    that is unknown or repeated: ignoring a misspelled requirement would let requests pass.
    """
    if not query:
        return _PLAIN[guard]
    given = _parameters(guard, query)
    for name, value in given.items():
        option = ROUTE_OPTIONS[name] if name in _AS_ROUTES else _FLAG
        if not option.accepts(value):
            raise InvalidRequirement(f"{name}: {option.advice}.")
    if "anonymous" in given and given.keys() - {"anonymous", "cookies"}:
        raise InvalidRequirement("anonymous: remove the other parameters; only cookies may stay.")
    rules = Rules(
        guard=guard,
        scope=given.get("scope", ""),
        verified="verified" in given,
        anonymous="anonymous" in given,
        caller=given.get("caller"),
        group=given.get("group"),
        acr=given.get("acr"),
        fresh=age(given["fresh"]) if "fresh" in given else None,
    )
    if error := contradiction(rules, settings.scopes):
        raise InvalidRequirement(f"The parameters do not fit: {error}.")
    return Requirements(rules, redirect="redirect" in given, cookies="cookies" in given)


def _parameters(guard: str, query: str) -> dict[str, str]:
    try:
        pairs = parse_qsl(
            query, keep_blank_values=True, errors="strict", max_num_fields=_MAX_PARAMETERS
        )
    except ValueError:
        pairs = [("", "")]
    given, accepted = dict(pairs), _PARAMETERS[guard]
    if len(given) != len(pairs) or not given.keys() <= set(accepted):
        names = ", ".join(accepted)
        raise InvalidRequirement(f"This endpoint takes {names}, each at most once, and no others.")
    return given


def acceptance(request: Request, caller: Caller | None, required: Requirements) -> Response:
    """The response that lets the request pass.

    With ``cookies`` it has the header ``Cookie`` for the application, also if no cookie is left:
    only then does the proxy replace what the client has sent.
    """
    headers = identity(caller, request.authsite.settings)
    if required.cookies:
        headers.append(("Cookie", without_own(request.environ.get("HTTP_COOKIE", ""))))
    return Response(status=204, headerlist=headers)


def identity(caller: Caller | None, settings: Settings) -> list[tuple[str, str]]:
    """The headers that tell the application who the caller is; all are empty without a caller.

    All of them are always there: a proxy that copies an empty header overwrites one that the client
    has sent itself. A value is ASCII; other characters and "%" are percent-encoded UTF-8. An
    address that is not confirmed may be another person's: applications that know their users by
    the address would take the caller for that person, so it is left out.
    """
    caller = caller or _ANONYMOUS
    user, address, confirmed, groups = "", "", "", ""
    if account := caller.account:
        user, confirmed = str(account.id), "true" if account.confirmed else "false"
        address = quote(account.email, safe=_HEADER_SAFE) if account.confirmed else ""
        groups = ",".join(labels.shown_to_others(account.labels, caller.acr, settings))
    return [
        ("X-Auth-User", user),
        ("X-Auth-Email", address),
        ("X-Auth-Email-Verified", confirmed),
        ("X-Auth-Client", caller.client_id or ""),
        ("X-Auth-Scope", " ".join(caller.scope)),
        ("X-Auth-Groups", groups),
        ("X-Auth-Acr", caller.acr or ""),
        ("X-Auth-Amr", " ".join(caller.amr)),
        ("X-Auth-Time", str(caller.auth_time or "")),
    ]


def login_page(request: Request) -> str:
    """The URL of the login page for a browser that the proxy turned away.

    It has ``next``, see `_way_back`, and after a method that sends data the notice that nothing was
    saved. Raises `LoginPageGuarded`.
    """
    way = _way_back(request)
    return _reachable(request, way, login_url(request, way.target, unsaved=way.unsaved))


def confirmation_page(request: Request) -> str:
    """The URL of the page that mails a link to a user who has to confirm the address.

    It has ``next`` as `login_page` has. Raises `LoginPageGuarded`.
    """
    way = _way_back(request)
    return _reachable(request, way, confirm_url(request, way.target))


def verify_page(request: Request, error: InsufficientUserAuthentication) -> str:
    """The URL of the page that asks a signed-in user for what ``error`` says.

    It has ``next`` and the notice as `login_page` has. Raises `LoginPageGuarded`.
    """
    way = _way_back(request)
    return _reachable(request, way, verify_url(request, way.target, error, unsaved=way.unsaved))


def _way_back(request: Request) -> _WayBack:
    """The page that a trusted proxy names, if a login may lead to it.

    After a method that sends data, the target is the page with the form, from ``Referer``.
    """
    if not request.authsite.through_trusted_proxy:
        return _WayBack(None, None, unsaved=False)
    page = _original_page(request)
    if is_original_safe(request):
        return _WayBack(page, _target(request, page) if page else None, unsaved=False)
    form = _page_at(referring_url(request))
    same_site = form is not None and page is not None and form.origin == page.origin
    return _WayBack(page, _target(request, form) if form and same_site else None, unsaved=True)


def _reachable(request: Request, way: _WayBack, location: str) -> str:
    """The URL of ``location``; raises `LoginPageGuarded` if the proxy asks about that very page."""
    url, page = absolute(request, location), way.page
    if page and f"{page.origin}{urlsplit(page.path).path}" == url.partition("?")[0]:
        raise LoginPageGuarded
    return url


def _original_page(request: Request) -> _Page | None:
    """The page of the original request.

    Traefik and Caddy name it in ``X-Forwarded-Proto``, ``-Host`` and ``-Uri``, nginx in
    ``X-Original-URL``. A proxy that sets one form passes the other one on from the client, so two
    different pages count as none.
    """
    pages = set()
    if (path := request.headers.get("X-Forwarded-Uri")) is not None:
        scheme = nearest(request, "X-Forwarded-Proto", "proto", ("http", "https").__contains__)
        host = nearest(request, "X-Forwarded-Host", "host", is_host)
        pages.add(_page(scheme or "", host or "", path))
    if (url := request.headers.get("X-Original-URL")) is not None:
        pages.add(_page_at(url))
    return pages.pop() if len(pages) == 1 else None


def _page_at(url: str) -> _Page | None:
    found = _URL.fullmatch(url)
    return _page(found[1].lower(), found[2], found[3] or "/") if found else None


def _page(scheme: str, host: str, path: str) -> _Page | None:
    if not scheme or not is_host(host) or local_path(path) is None:
        return None
    return _Page(origin_of(scheme, host.lower()), path)


def _target(request: Request, page: _Page) -> str | None:
    """``page`` as ``next``: a path of our own origin, or a URL in `return-origins`; else None."""
    own = page.origin == request.authsite.address.origin
    return page.path if own else return_target(request, f"{page.origin}{page.path}")


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
