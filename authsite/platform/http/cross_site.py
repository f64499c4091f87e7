"""Requests that a page of another site may have sent, without its visitor's knowledge.

A browser lets any page send a form, an image or a frame to us, from the address of its visitor. So
nothing counts, and nothing is written, for a POST of a page that is neither ours nor trusted, nor
for a GET that is not a navigation. Browsers say so in ``Origin`` and in the headers of W3C Fetch
Metadata; programs send none of them.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple
from urllib.parse import urlsplit

from pyramid.interfaces import IRoutesMapper, IViewDeriverInfo
from pyramid.response import Response

from authsite.platform.registrations import Registered
from authsite.platform.request_state import Request, View, view_options
from authsite.platform.settings import Settings

from . import cors
from .address_value import origin_of
from .errors import ApiError
from .headers import SAFE_METHODS
from .own_routes import is_own_view

if TYPE_CHECKING:
    from pyramid.config import Configurator

MAX_SHOWN = 100  # characters of an origin
FRAMES = ("iframe", "frame", "embed", "object", "fencedframe")


class Trusted(NamedTuple):
    """Origins whose pages may post without credentials, to ``routes`` or, without any, to all."""

    allows: cors.Allows
    routes: frozenset[str]


TRUSTED = Registered[Trusted]("trusted origins")


class CrossOrigin(ApiError):
    """A page of an origin that is neither ours nor trusted has sent the request."""

    summary = (
        "A page of an origin that is neither authsite's nor trusted has sent the request: see "
        "`cors-origins`."
    )
    status = 403
    code = "cross_origin"
    message = (
        "A page of another site sent this request, so nothing was done. Send it from our own pages "
        "or from an origin in cors-origins, which the people who run this service can add; outside "
        "a browser send neither Origin nor Sec-Fetch-Site."
    )


def trust(config: "Configurator", allows: cors.Allows, *routes: str) -> None:
    """Let pages of the origins that ``allows`` names post to these routes; without any, to all."""
    TRUSTED.add(config, Trusted(allows, frozenset(routes)))


def trust_pages(
    config: "Configurator", pages: Callable[[Settings], Sequence[str | None]], *routes: str
) -> None:
    """`trust` the origins of the URLs that the settings allow for the links in mails."""
    trust(config, lambda services, origin: origin in _origins(pages(services.settings)), *routes)


def require_same_site(
    request: Request, error: type[ApiError] = CrossOrigin, *, listed_only: bool = False
) -> None:
    """Raise ``error`` if a page of another site sent ``request``.

    ``listed_only``: only our own origin and those in `cors-origins` are let in. Programs other than
    browsers send neither header.
    """
    origin, site = request.headers.get("Origin"), request.headers.get("Sec-Fetch-Site")
    if origin is None and site is None:
        return
    if site in ("same-origin", "none"):
        return
    if origin in (request.authsite.address.origin, *request.authsite.settings.cors_origins):
        return
    if origin is None or listed_only or not _is_trusted(request, origin):
        raised = error()
        sent = {"origin": origin or "", "sec_fetch_site": site or ""}
        raised.shown = {name: text[:MAX_SHOWN] for name, text in sent.items() if text}
        raise raised


def is_navigation(request: Request) -> bool:
    """Whether a browser is led to a page: not an image, a script, a fetch or a frame.

    Old browsers and programs say nothing, and count as led.
    """
    mode = request.headers.get("Sec-Fetch-Mode", "navigate").lower()
    fetched = request.headers.get("Sec-Fetch-Dest", "document").lower()
    return mode == "navigate" and fetched == "document"


def is_frame(request: Request) -> bool:
    """Whether the request is the navigation of a frame within another page."""
    mode = request.headers.get("Sec-Fetch-Mode", "navigate").lower()
    return mode == "navigate" and request.headers.get("Sec-Fetch-Dest", "").lower() in FRAMES


@view_options("cross_site_error")
def cross_site_deriver(view: View, info: IViewDeriverInfo) -> View:
    """View deriver: a POST below ``/v1`` without a token is checked before its body is read.

    A page of another site cannot send a token, nor JSON alone: the browser asks us first (Fetch
    standard, CORS-preflight). ``cross_site_error``: the error of a view that takes a cookie, which
    is for pages of our own origin and of `cors-origins`.
    """
    name, error = info.options.get("route_name"), info.options.get("cross_site_error")
    if not is_own_view(info) or not _is_below_v1(info, name) or is_json_only(info.options):
        return view

    def view_for_same_site(context: object, request: Request) -> Response:
        if request.method not in SAFE_METHODS and request.authsite.caller is None:
            require_same_site(request, error or CrossOrigin, listed_only=error is not None)
        return view(context, request)

    return view_for_same_site


def is_json_only(options: Mapping[str, Any]) -> bool:
    """Whether a view with these options takes a body that no form can send."""
    return bool(getattr(options.get("body"), "json_only", False))


def _is_below_v1(info: IViewDeriverInfo, name: str | None) -> bool:
    route = info.registry.getUtility(IRoutesMapper).get_route(name) if name else None
    if route is None:
        return False
    prefix = info.registry["authsite.http"].prefix
    return f"/{route.pattern.lstrip('/')}".removeprefix(prefix).startswith("/v1/")


def _origins(urls: Sequence[str | None]) -> list[str]:
    return [origin_of(*urlsplit(url)[:2]) for url in urls if url]


def _is_trusted(request: Request, origin: str) -> bool:
    if cors.is_opened_to(request, origin):
        return True
    route, services = request.matched_route.name, request.authsite.services
    return any(
        (not each.routes or route in each.routes) and each.allows(services, origin)
        for each in TRUSTED.of(services).values()
    )
