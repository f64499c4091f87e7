"""``request.authsite.ctx``: the `Context` of a request."""

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from authsite.platform.context import Context
from authsite.platform.db.transaction import request_session
from authsite.platform.request_state import Request

if TYPE_CHECKING:
    from pyramid.config import Configurator

    from authsite.platform.rate_limit.caller_limits import CallerLimits

COUNTED = "authsite.counted"  # in the WSGI environment, which all runs of pyramid_retry share


def context_of(request: Request) -> Context:
    """``request.authsite.ctx``."""
    # Weak, as in `RequestState`: in a cycle only the garbage collector frees the request.
    weak: Callable[[], Any] = request.authsite.request
    return Context(
        request.authsite.services,
        lambda: weak().authsite.request_info,
        lambda: request_session(weak()),
        lambda: _limits_of(weak()),
    )


def _limits_of(request: Request) -> "CallerLimits":
    from authsite.platform.rate_limit.caller_limits import CallerLimits, Counted
    from authsite.platform.rate_limit.device_cookie import sent_cookie
    from authsite.platform.rate_limit.limiter import network_of

    services = request.authsite.services
    weak: Callable[[], Any] = request.authsite.request
    return CallerLimits(
        services.rate_limits,
        services.keys,
        network_of(request.authsite.client_address),
        lambda: sent_cookie(weak()),
        request.environ.setdefault(COUNTED, Counted()),
        recognition_in=services.recognition,
        on_exceeded=lambda name, subject: weak().authsite.record_exceeded(name, subject),
    )


def includeme(config: "Configurator") -> None:
    """Add ``request.authsite.ctx``."""
    config.add_request_attribute("ctx", context_of)
