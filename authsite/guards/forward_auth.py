"""Forward auth: a reverse proxy asks whether a request may pass (docs/forward-auth.md).

The proxy sends the headers of the original request without its body. A 204 response lets the
request pass, and its headers tell the application behind the proxy who the caller is.
"""

import re
from dataclasses import dataclass
from typing import NamedTuple
from urllib.parse import parse_qsl, quote, urlsplit

from pyramid.response import Response

from authsite.http.address import absolute, origin_of
from authsite.http.cookies import without_own
from authsite.http.host import is_host
from authsite.http.methods import is_original_safe
from authsite.http.proxies import nearest
from authsite.request_state import Request
from authsite.settings import Settings

from .caller import Caller
from .errors import InvalidRequirement, LoginPageGuarded
from .return_to import local_path, referring_url, return_target
from .route_options import Rules, contradiction, is_scope
from .session import login_url

_FLAGS = ("1", "true")
_PARAMETERS = {"api": ("scope", "verified", "cookies"), "web": ("verified", "redirect", "cookies")}
_MAX_PARAMETERS = 10
_URL = re.compile(r"(https?)://([^/?#\\]+)(/.*)?", re.IGNORECASE)
# Printable ASCII is sent as it is, except "%", which would make decoding ambiguous.
_HEADER_SAFE = "!#$&'()*+,/:;=?@[]^`{|}"


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


_PLAIN = {guard: Requirements(Rules(guard=guard)) for guard in _PARAMETERS}


def requirements(guard: str, query: str, settings: Settings) -> Requirements:
    """The requirements in a query string.

    Raises `InvalidRequirement` for a value that a route option cannot have, and for a parameter
    that is unknown or repeated: ignoring a misspelled requirement would let requests pass.
    """
    if not query:
        return _PLAIN[guard]
    given = _parameters(guard, query)
    scope = given.get("scope")
    if scope is not None and not is_scope(scope):
        raise InvalidRequirement("scope: give scopes separated by spaces, such as reports:read.")
    for name in given.keys() - {"scope"}:
        if given[name] not in _FLAGS:
            raise InvalidRequirement(f"{name}: give 1 or true, or leave it out.")
    rules = Rules(guard=guard, scope=scope or "", verified="verified" in given)
    if error := contradiction(rules, settings.scopes):
        raise InvalidRequirement(f"scope: {error}.")
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


def acceptance(request: Request, caller: Caller, required: Requirements) -> Response:
    """The response that lets the request pass.

    With ``cookies`` it has the header ``Cookie`` for the application, also if no cookie is left:
    only then does the proxy replace what the client has sent.
    """
    headers = identity(caller)
    if required.cookies:
        headers.append(("Cookie", without_own(request.environ.get("HTTP_COOKIE", ""))))
    return Response(status=204, headerlist=headers)


def identity(caller: Caller) -> list[tuple[str, str]]:
    """The headers that tell the application who the caller is.

    All of them are always there: a proxy that copies an empty header overwrites one that the client
    has sent itself. A value is ASCII; other characters and "%" are percent-encoded UTF-8.
    """
    account = caller.account
    return [
        ("X-Auth-User", str(account.id) if account else ""),
        ("X-Auth-Email", quote(account.email, safe=_HEADER_SAFE) if account else ""),
        ("X-Auth-Client", caller.client_id or ""),
        ("X-Auth-Scope", " ".join(caller.scope)),
    ]


def login_page(request: Request) -> str:
    """The URL of the login page for a browser that the proxy turned away.

    It has ``next`` if a trusted proxy names a page that a login may lead to. After a method that
    sends data, ``next`` is the page with the form, from ``Referer``. Raises `LoginPageGuarded`.
    """
    trusted = request.authsite.through_trusted_proxy
    page = _original_page(request) if trusted else None
    if trusted and not is_original_safe(request):
        form = _page_at(referring_url(request))
        same_site = form is not None and page is not None and form.origin == page.origin
        target = _target(request, form) if form and same_site else None
        url = absolute(request, login_url(request, target, unsaved=True))
    else:
        url = absolute(request, login_url(request, _target(request, page) if page else None))
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
