"""Cross-origin requests: which origins' scripts may read our responses (Fetch standard, CORS).

Those in setting `cors-origins` may read all responses but pages. A package opens a route to more
with `open_to_all` or `open_to`, always without cookies.
"""

from collections.abc import Callable
from typing import TYPE_CHECKING, TypeAlias

from pyramid.response import Response

from authsite.platform.registrations import Registered
from authsite.platform.request_state import Request

from .own_routes import is_forward_auth

if TYPE_CHECKING:
    from pyramid.config import Configurator

    from authsite.platform.context import Services


METHODS = "GET, POST, PUT, PATCH, DELETE"
REQUEST_HEADERS = (
    "Authorization, Content-Type, Accept, Accept-Language, X-Requested-With, X-Request-Id"
)
RESPONSE_HEADERS = "X-Request-Id, Retry-After, X-Auth-Scope"
PREFLIGHT_LIFETIME = "600"  # seconds

Allows: TypeAlias = Callable[["Services", str], bool]
"""Whether scripts of an origin, other than those of the setting, may read a route's responses."""
OPENED = Registered[Allows]("routes opened to other origins")
CLOSED = Registered[str]("routes closed to other origins")
"""Beginnings of names of routes that no page of another origin has to read."""


def everyone(_services: "Services", _origin: str) -> bool:
    """Scripts of every origin may."""
    return True


def open_to_all(config: "Configurator", *routes: str) -> None:
    """Let scripts of every origin read the responses of the routes with these names."""
    open_to(config, everyone, *routes)


def open_to(config: "Configurator", allows: Allows, *routes: str) -> None:
    """Let scripts of the origins that ``allows`` names read the responses of these routes."""
    for name in routes:
        OPENED.add(config, allows, name)


def close(config: "Configurator", prefix: str) -> None:
    """Keep scripts of other origins, also those of the setting, from routes with such a name.

    A token of much power must not be of use to a page that has a fault.
    """
    CLOSED.add(config, prefix)


def preflight(request: Request) -> Response | None:
    """The response to a CORS preflight request of an allowed origin, or None."""
    environ = request.environ
    asks = environ["REQUEST_METHOD"] == "OPTIONS" and (
        "HTTP_ACCESS_CONTROL_REQUEST_METHOD" in environ
    )
    if not asks or _allowed_origin(request, _opened(request)) is None:
        return None
    return Response(
        status=204,
        headers={
            "Access-Control-Allow-Methods": METHODS,
            "Access-Control-Allow-Headers": REQUEST_HEADERS,
            "Access-Control-Max-Age": PREFLIGHT_LIFETIME,
        },
    )


def allow_origin(request: Request, response: Response) -> None:
    """Let scripts of an allowed origin read ``response``, unless it is a page."""
    if _closed(request):
        return
    opened = _opened(request)
    listed = request.authsite.settings.cors_origins
    if (opened is None and not listed) or request.authsite.error_format == "html":
        return
    if opened is not everyone:
        response.headers.add("Vary", "Origin")
    if origin := _allowed_origin(request, opened):
        response.headers["Access-Control-Allow-Origin"] = origin
        response.headers["Access-Control-Expose-Headers"] = RESPONSE_HEADERS
        response.headers["Cross-Origin-Resource-Policy"] = "cross-origin"
        if _allows_cookies(request):
            response.headers["Access-Control-Allow-Credentials"] = "true"


def is_opened_to(request: Request, origin: str) -> bool:
    """Whether a package has opened the route of ``request`` to scripts of ``origin``."""
    opened = _opened(request)
    return opened is not None and opened(request.authsite.services, origin)


def _opened(request: Request) -> Allows | None:
    route = getattr(request, "matched_route", None)
    return OPENED.of(request.authsite.services).get(route.name) if route is not None else None


def _closed(request: Request) -> bool:
    route = getattr(request, "matched_route", None)
    if route is None:
        return False
    name: str = route.name
    return name.startswith(tuple(CLOSED.of(request.authsite.services).values()))


def _allowed_origin(request: Request, opened: Allows | None) -> str | None:
    """The value of ``Access-Control-Allow-Origin``; None where the request's origin may not read.

    An origin in `cors-origins` is exactly this text.
    """
    if request.authsite.error_format == "html" or is_forward_auth(request) or _closed(request):
        return None
    if opened is everyone:  # the same for all, so that a cache can keep the response
        return "*"
    origin = request.headers.get("Origin")
    if origin is None or origin in request.authsite.settings.cors_origins:
        return origin
    return origin if opened and opened(request.authsite.services, origin) else None


def _allows_cookies(request: Request) -> bool:
    """Whether the path sets or clears the refresh cookie: the proxy endpoints and logout."""
    prefix = request.registry["authsite.http"].prefix
    # `request.path_info` raises for a path that is not UTF-8.
    path: str = request.environ["PATH_INFO"].removeprefix(prefix)
    return path.startswith("/v1/clients/") or path.rstrip("/") == "/v1/logout"
