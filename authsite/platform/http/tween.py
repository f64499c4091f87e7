"""The outermost tween: it prepares every request, and completes authsite's own responses."""

from collections.abc import Callable
from time import perf_counter

from pyramid.registry import Registry
from pyramid.response import Response
from pyramid_retry import is_error_retryable

from authsite.platform.request_state import Request
from authsite.platform.runtime.counters import REQUESTS

from .address import take_mount
from .application import HttpApplication
from .cors import preflight
from .errors import DENIED, denied
from .headers import complete
from .methods import METHODS
from .own_routes import is_own_request
from .request_info import REQUEST_ID

Handler = Callable[[Request], Response]
BEGAN = "authsite.began"
"""The key in the WSGI environ for the time (`perf_counter`) when a request was received."""


def http_tween(handler: Handler, registry: Registry) -> Handler:
    """Make the tween: it sets the request id for log lines, adds headers, and counts requests."""
    http: HttpApplication = registry["authsite.http"]
    # Inside a host application, the host handles the mount path.
    mounted = http.standalone and any(each.mount for each in http.addresses)

    def tween(request: Request) -> Response:
        if mounted:
            take_mount(request)
        began = request.environ.get(BEGAN) or perf_counter()
        request.environ.pop(DENIED, None)  # of an attempt that is repeated
        previous = REQUEST_ID.set(request.authsite.request_id)
        try:
            response = handler(request)
        finally:
            REQUEST_ID.reset(previous)
        if is_own_request(request):
            response = preflight(request) or response
            status = complete(request, response)
            error = getattr(request, "exception", None)
            if error is None or not is_error_retryable(request, error):  # else it is retried
                _count(request, status, perf_counter() - began)
                if reason := denied(request.environ, status):
                    request.authsite.note_denied(reason, status)
        return response

    return tween


def _count(request: Request, status: int, seconds: float) -> None:
    """Count the request under the name of its route, because a caller may send any path."""
    route = getattr(request, "matched_route", None)
    method = request.environ["REQUEST_METHOD"]  # faster than `request.method`
    label = method if method in METHODS else "other"
    REQUESTS.observe(seconds, route.name if route else "none", label, status)
