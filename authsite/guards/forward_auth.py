"""Forward auth: a reverse proxy asks whether a request may pass (docs/forward-auth.md).

The proxy sends the headers of the original request without its body. A 204 response lets the
request pass, and its headers tell the application behind the proxy who the caller is.
"""

import re
from dataclasses import dataclass
from typing import NamedTuple
from urllib.parse import parse_qsl, quote, urlsplit

from pyramid.response import Response

from authsite.platform.http.address import absolute
from authsite.platform.http.address_value import origin_of
from authsite.platform.http.cookies import without_own
from authsite.platform.http.host import is_host
from authsite.platform.http.methods import is_original_safe
from authsite.platform.http.proxies import nearest
from authsite.platform.http.return_to import local_path, referring_url, return_target
from authsite.platform.request_state import Request
from authsite.platform.settings import Settings
from authsite.sign_in.confirm_url import confirm_url
from authsite.sign_in.errors import InsufficientUserAuthentication
from authsite.sign_in.login_url import login_url
from authsite.sign_in.verify_url import verify_url
from authsite.users.caller import Caller
from authsite.users.groups import labels

from .errors import InvalidRequirement, LoginPageGuarded
from .route_options import ROUTE_OPTIONS, Option, Rules, age, contradiction

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
