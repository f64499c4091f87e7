"""The outermost tween: it prepares every request, and completes authsite's own responses."""

from collections.abc import Callable
from time import perf_counter

from pyramid.registry import Registry
from pyramid.response import Response
from pyramid_retry import is_error_retryable

from authsite.counters import REQUESTS
from authsite.request_state import Request

from . import cors, security_headers
from .address import absolute, take_mount
from .application import HttpApplication
from .request_info import REQUEST_ID
from .routes import METHODS, is_own_request

Handler = Callable[[Request], Response]
BEGAN = "authsite.began"
"""The key in the WSGI environ for the time (`perf_counter`) when the server had the request."""


def http_tween(handler: Handler, registry: Registry) -> Handler:
    """Make the tween, which sets the request id for log lines and adds headers to responses.

    The headers are security headers, CORS headers and the request id.
    """
    http: HttpApplication = registry["authsite.http"]
    # Inside a host application, the host takes care of the mount path.
    mounted = http.standalone and any(each.mount for each in http.addresses)

    def tween(request: Request) -> Response:
        if mounted:
            take_mount(request)
        began = request.environ.get(BEGAN) or perf_counter()
        previous = REQUEST_ID.set(request.authsite.request_id)
        try:
            response = handler(request)
        finally:
            REQUEST_ID.reset(previous)
        if is_own_request(request):
            response = cors.preflight(request) or response
            status = _complete(request, response)
            security_headers.add(request, response)
            cors.allow_origin(request, response)
            error = getattr(request, "exception", None)
            if error is None or not is_error_retryable(request, error):  # else it runs again
                _count(request, status, perf_counter() - began)
        return response

    return tween


def _count(request: Request, status: int, seconds: float) -> None:
    """Count the request under the name of its route: a path may contain anything."""
    route = getattr(request, "matched_route", None)
    method = request.environ["REQUEST_METHOD"]  # WebOb's attribute takes longer
    known = method if method in METHODS else "other"
    REQUESTS.observe(seconds, route.name if route else "none", known, status)


def _complete(request: Request, response: Response) -> int:
    """Add the request id, make a redirect absolute, and remove ``Content-Type`` from a 204.

    Returns the status.
    """
    # The plain list is faster than WebOb's mapping, which searches the list for every name.
    headers = response.headerlist
    headers.append(("X-Request-Id", request.authsite.request_id))
    status: int = response.status_int
    # RFC 9110, section 10.2.2. WebOb takes 2 µs to look for a header that is missing.
    if (status == 201 or 300 <= status < 400) and (location := response.location):
        response.location = absolute(request, location)
    if status == 204:  # without content, so without a type (RFC 9110, section 8.3)
        headers[:] = [header for header in headers if header[0].lower() != "content-type"]
    return status
