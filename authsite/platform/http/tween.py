"""The outermost tween: it prepares every request, and completes authsite's own responses."""

import json
from collections.abc import Callable
from time import perf_counter
from typing import Any

from pyramid.config import Configurator
from pyramid.events import ApplicationCreated
from pyramid.exceptions import ConfigurationError
from pyramid.interfaces import IRoutesMapper, ITweens, IViewDeriverInfo
from pyramid.registry import Registry
from pyramid.renderers import RendererHelper
from pyramid.response import Response
from pyramid.settings import asbool
from pyramid_retry import is_error_retryable

from authsite.platform.request_state import Request, View
from authsite.platform.runtime.counters import REQUESTS

from .address import take_mount
from .application import HttpApplication
from .cors import preflight
from .errors import DENIED, denied
from .headers import METHODS, complete
from .own_routes import is_own, is_own_request
from .rendering import page_templates, render_page
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


# Keeps the configuration of a host application away from authsite's own routes.
#
# Authsite's own views do not use the host's renderers, the values that the host adds for
# templates (`BeforeRender`), or the host's root factory.


TWEENS = ("authsite.platform.http.tween.http_tween", "pyramid_tm.tm_tween_factory")


def includeme(config: Configurator) -> None:
    """Set up our own templates and renderers; `isolate` runs when the application is created."""
    config.registry["authsite.http"].templates = page_templates(
        config.registry["authsite"].settings.templates_folder,
        reload=asbool(config.registry.settings.get("pyramid.reload_templates")),
    )
    config.add_view_deriver(
        own_renderer_deriver, "authsite_renderer", under="rendered_view", over="mapped_view"
    )
    config.add_subscriber(isolate, ApplicationCreated)


class OwnRenderer(RendererHelper):
    """Renders our views, even if the host has registered another renderer under the same name."""

    def render_to_response(self, values: Any, _system: object, request: Request) -> Response:
        """Make the response from ``values``, which the view returned: JSON, or a page.

        For JSON, ``values`` must consist of the types of the `json` module.
        """
        response = request.response
        if self.name == "json":
            response.content_type = "application/json"
            response.body = json.dumps(values).encode()
        else:
            response.text = render_page(request, self.name, values)
        return response


def own_renderer_deriver(view: View, info: IViewDeriverInfo) -> View:
    """Give every view of our own routes an `OwnRenderer`."""
    renderer = info.options.get("renderer")
    if isinstance(renderer, RendererHelper) and is_own(info.options.get("route_name")):
        info.options["renderer"] = OwnRenderer(renderer.name, renderer.package, info.registry)
    return view


def isolate(event: ApplicationCreated) -> None:
    """Give our routes their own root factory, and check the host's list of tweens.

    Raises `ConfigurationError` if the host sets ``pyramid.tweens`` without all of `TWEENS`.
    """
    registry = event.app.registry
    for route in registry.getUtility(IRoutesMapper).get_routes(include_static=True):
        if is_own(route.name) and route.factory is None:
            route.factory = _no_root
    explicit = [name for name, _factory in registry.getUtility(ITweens).explicit]
    missing = [name for name in TWEENS if explicit and name not in explicit]
    if missing:
        raise ConfigurationError(
            f"pyramid.tweens lists {' '.join(explicit)}, and not all that authsite needs;"
            f" add {' and '.join(missing)}, above pyramid.tweens.excview_tween_factory"
        )


def _no_root(request: Request) -> None:
    """The root factory of our routes.

    The host's root factory is not used, because it may raise errors or query the host's database.
    """
