"""The headers of authsite's responses: security headers, CORS headers and the request id.

The first restrict what browsers do with our responses (OWASP Secure Headers Project).
"""

from collections.abc import Mapping
from functools import cache
from typing import Any
from urllib.parse import urlsplit

from pyramid.events import ApplicationCreated
from pyramid.interfaces import IRoutesMapper
from pyramid.registry import Registry
from pyramid.response import Response

from authsite.platform.request_state import Request

from .address import absolute
from .application import HttpApplication
from .cors import allow_origin
from .errors import MethodNotAllowed
from .own_routes import is_forward_auth, is_own

HEADERS = {
    "X-Content-Type-Options": "nosniff",
    # With no-referrer browsers would send `Origin: null` with our own forms.
    "Referrer-Policy": "same-origin",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Permissions-Policy": "camera=(), geolocation=(), microphone=(), payment=(), usb=()",
    "X-Frame-Options": "DENY",
}
PAGE_POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; "
    "connect-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'"
)
API_POLICY = "default-src 'none'; frame-ancestors 'none'"
# Lower-case name -> header.
API_HEADERS = {
    name.lower(): (name, value)
    for name, value in {**HEADERS, "Content-Security-Policy": API_POLICY}.items()
}
NOT_STORED = (("Cache-Control", "no-store"), ("Pragma", "no-cache"))
# Setting `hsts` -> header value. The age is one year (RFC 6797, section 6.1).
HSTS = {"host": "max-age=31536000", "subdomains": "max-age=31536000; includeSubDomains"}


def complete(request: Request, response: Response) -> int:
    """Add the headers, make a redirect absolute, and remove ``Content-Type`` from a 204.

    Returns the status.
    """
    # The plain list, here and below: WebOb's mapping searches it for every name.
    headers = response.headerlist
    headers.append(("X-Request-Id", request.authsite.request_id))
    status: int = response.status_int
    # RFC 9110, section 10.2.2. WebOb takes 2 µs to look for a header that is missing.
    if (status == 201 or 300 <= status < 400) and (location := response.location):
        response.location = absolute(request, location)
    present = {name.lower() for name, _ in headers}
    if status == 204 and "content-type" in present:  # no content, no type (RFC 9110, section 8.3)
        headers[:] = [header for header in headers if header[0].lower() != "content-type"]
    _add_security_headers(request, headers, present)
    allow_origin(request, response)
    return status


def _add_security_headers(
    request: Request, headers: list[tuple[str, str]], present: set[str]
) -> None:
    """Add the security headers that the view has not set; ``present``: the names of those it has.

    These names are in lower case.
    """
    page = request.authsite.error_format == "html"
    wanted = _page_headers(request.authsite.settings.site_logo) if page else API_HEADERS
    headers += [header for name, header in wanted.items() if name not in present]
    if "cache-control" not in present:
        headers += NOT_STORED
    hsts = request.registry["authsite.http"].hsts
    if hsts and request.authsite.address.https and not is_forward_auth(request):
        headers.append(("Strict-Transport-Security", hsts))


@cache
def _page_headers(site_logo: str | None) -> Mapping[str, tuple[str, str]]:
    """The headers of pages; the policy admits the origin of the logo in setting `site-logo`."""
    logo = urlsplit(site_logo or "")
    images = f"img-src 'self' {logo.scheme}://{logo.netloc}" if logo.netloc else "img-src 'self'"
    policy = PAGE_POLICY.replace("img-src 'self'", images)
    return {**API_HEADERS, "content-security-policy": ("Content-Security-Policy", policy)}


# The methods of a path: other methods get 405, before any guard runs.


SAFE_METHODS = ("GET", "HEAD")
# Those that a log or a metric names: a caller may send any text as the method.
METHODS = frozenset({"GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"})
# The headers that have the method of the original request (Traefik and Caddy; nginx), as the WSGI
# environ names them: WebOb's mapping of headers takes longer.
ORIGINAL_METHOD = ("HTTP_X_FORWARDED_METHOD", "HTTP_X_ORIGINAL_METHOD")


def is_safe(request: Request) -> bool:
    """Whether the request only reads, and so does the one that a reverse proxy asks about."""
    if request.environ["REQUEST_METHOD"] not in SAFE_METHODS:
        return False
    return not is_forward_auth(request) or is_original_safe(request)


def is_original_safe(request: Request) -> bool:
    """Whether the original request, which a reverse proxy asks about, only reads."""
    given = [method for name in ORIGINAL_METHOD if (method := request.environ.get(name))]
    return all(method.upper() in SAFE_METHODS for method in given)


def collect_methods(event: ApplicationCreated) -> None:
    """At start-up: collect the methods of authsite's own routes, and which of all routes have GET.

    Routes that exclude GET are missing: for a GET request Pyramid tries the next route.
    """
    registry = event.app.registry
    own: dict[str, set[str]] = {}
    with_get = {
        route["name"]: False
        for route in _introspectables(registry, "routes")
        if "GET" in (route["request_methods"] or ("GET",))
    }
    for view in _introspectables(registry, "views"):
        route, methods = view["route_name"], view["request_methods"] or ()
        names = {methods} if isinstance(methods, str) else set(methods)
        if is_own(route):
            own.setdefault(route, set()).update(names, {"HEAD"} if "GET" in names else ())
        if route in with_get:
            with_get[route] |= not names or "GET" in names
    http: HttpApplication = registry["authsite.http"]
    http.methods = {route: tuple(sorted(names)) for route, names in own.items()}
    http.read_with_get = with_get


def _introspectables(registry: Registry, category: str) -> list[Any]:
    return [item["introspectable"] for item in registry.introspector.get_category(category) or ()]


def page_route(request: Request, path: str) -> tuple[bool, str | None]:
    """Whether ``path`` (decoded, without the script name) has GET, and the name of its route.

    A path without a route counts as having GET, since the host's traversal may find it.
    """
    by_route = request.registry["authsite.http"].read_with_get
    for route in request.registry.getUtility(IRoutesMapper).get_routes():
        if route.name in by_route and route.match(path) is not None:
            return by_route[route.name], route.name
    return True, None


def reject_other_methods(request: Request) -> None:
    """For every request to an own route: raise `MethodNotAllowed` unless a view has the method."""
    route = request.matched_route
    allowed = route and request.registry["authsite.http"].methods.get(route.name)
    if allowed and request.environ["REQUEST_METHOD"] not in allowed:
        raise MethodNotAllowed(allowed)
