"""The methods of a path: other methods get 405, before any guard runs."""

from typing import Any

from pyramid.events import ApplicationCreated
from pyramid.interfaces import IRoutesMapper
from pyramid.registry import Registry

from authsite.platform.request_state import Request

from .application import HttpApplication
from .errors import MethodNotAllowed
from .own_routes import is_forward_auth, is_own

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
