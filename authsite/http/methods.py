"""The methods of a path: other methods get 405, before any guard runs."""

from collections.abc import Mapping
from typing import Any

from pyramid.events import ApplicationCreated, BeforeTraversal
from pyramid.interfaces import IRoutesMapper
from pyramid.registry import Registry

from authsite.request_state import Request

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


def allowed_methods(registry: Registry) -> dict[str, tuple[str, ...]]:
    """Route name -> the methods of its views, for authsite's own routes."""
    methods: dict[str, set[str]] = {}
    for item in registry.introspector.get_category("views") or ():
        view = item["introspectable"]
        route = view["route_name"]
        if is_own(route):
            methods.setdefault(route, set()).update(_methods(view))
    return {
        route: tuple(sorted(names | ({"HEAD"} if "GET" in names else set())))
        for route, names in methods.items()
    }


def read_with_get(registry: Registry) -> dict[str, bool]:
    """Route name -> whether one of its views has GET, for all routes of the application.

    Routes that exclude GET are missing: for a GET request Pyramid tries the next route.
    """
    found: dict[str, bool] = {}
    for item in registry.introspector.get_category("routes") or ():
        route = item["introspectable"]
        if "GET" in (route["request_methods"] or ("GET",)):
            found[route["name"]] = False
    for item in registry.introspector.get_category("views") or ():
        view = item["introspectable"]
        if view["route_name"] in found:
            found[view["route_name"]] |= "GET" in (_methods(view) or ("GET",))
    return found


def collect_methods(event: ApplicationCreated) -> None:
    """At start-up: collect the methods of all routes."""
    registry = event.app.registry
    http: HttpApplication = registry["authsite.http"]
    http.methods, http.read_with_get = allowed_methods(registry), read_with_get(registry)


def page_route(request: Request, path: str) -> tuple[bool, str | None]:
    """Whether ``path`` (decoded, without the script name) has GET, and the name of its route.

    A path without a route counts as having GET, since the host's traversal may find it.
    """
    by_route = request.registry["authsite.http"].read_with_get
    for route in request.registry.getUtility(IRoutesMapper).get_routes():
        if route.name in by_route and route.match(path) is not None:
            return by_route[route.name], route.name
    return True, None


def reject_other_methods(event: BeforeTraversal) -> None:
    """For every request to an own route: raise `MethodNotAllowed` unless a view has the method."""
    request = event.request
    route = request.matched_route
    allowed = route and request.registry["authsite.http"].methods.get(route.name)
    if allowed and request.environ["REQUEST_METHOD"] not in allowed:
        raise MethodNotAllowed(allowed)


def _methods(view: Mapping[str, Any]) -> tuple[str, ...]:
    methods = view["request_methods"] or ()
    return (methods,) if isinstance(methods, str) else tuple(methods)
