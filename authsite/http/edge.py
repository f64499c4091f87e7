"""The outermost layer: request id, browser security headers, CORS, one log context."""

from contextvars import ContextVar
from functools import cache
from typing import Any
from urllib.parse import urlsplit

from pyramid.response import Response

# The id of the request that is under way in this thread, for every log line of it.
REQUEST_ID: ContextVar[str | None] = ContextVar("request_id", default=None)
HEADERS = {
    "X-Content-Type-Options": "nosniff",
    # Not no-referrer: browsers would send `Origin: null` with our own forms.
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
# By their names in lower case, as they are looked for.
API_HEADERS = {
    name.lower(): (name, value)
    for name, value in {**HEADERS, "Content-Security-Policy": API_POLICY}.items()
}
NOT_STORED = (("Cache-Control", "no-store"), ("Pragma", "no-cache"))
HSTS = "max-age=31536000; includeSubDomains"
CORS_METHODS = "GET, POST, PUT, PATCH, DELETE"
CORS_HEADERS = "Authorization, Content-Type"


def edge_tween(handler: Any, _registry: Any) -> Any:
    """Wrap every request of the application."""

    def edge(request: Any) -> Response:
        before = REQUEST_ID.set(request.id)
        try:
            response = handler(request)
        finally:
            REQUEST_ID.reset(before)
        if answers_for(request):
            response = _preflight(request) or response
            _add_headers(request, response)
            if request.cfg.cors_origins:
                _allow_origin(request, response)
        return response

    return edge


def answers_for(request: Any) -> bool:
    """Whether the answer is authsite's: in a host's application its own pages stay as they are."""
    if request.registry["authsite.standalone"]:
        return True
    route = getattr(request, "matched_route", None)
    return route is not None and route.name.startswith("authsite.")


def _add_headers(request: Any, response: Response) -> None:
    # On the bare list: WebOb's mapping walks it anew for every name.
    headers = response.headerlist
    present = {name.lower() for name, _ in headers}
    headers.append(("X-Request-Id", request.id))
    page = request.speaks == "page"
    ours = page_headers(request.cfg.site_logo) if page else API_HEADERS
    headers += [header for name, header in ours.items() if name not in present]
    if "cache-control" not in present:
        headers += NOT_STORED
    if request.base_url.startswith("https:"):
        headers.append(("Strict-Transport-Security", HSTS))


@cache
def page_headers(site_logo: str | None) -> dict[str, tuple[str, str]]:
    """The headers of pages; a logo may come from where `site-logo` says."""
    logo = urlsplit(site_logo or "")
    images = f"img-src 'self' {logo.scheme}://{logo.netloc}" if logo.netloc else "img-src 'self'"
    policy = PAGE_POLICY.replace("img-src 'self'", images)
    return {**API_HEADERS, "content-security-policy": ("Content-Security-Policy", policy)}


def _preflight(request: Any) -> Response | None:
    """The answer to a CORS preflight of an allowed origin (Fetch standard, 4.8)."""
    wanted = request.method == "OPTIONS" and "Access-Control-Request-Method" in request.headers
    if not (wanted and _allowed_origin(request)):
        return None
    return Response(
        status=204,
        headers={
            "Access-Control-Allow-Methods": CORS_METHODS,
            "Access-Control-Allow-Headers": CORS_HEADERS,
            "Access-Control-Max-Age": "600",
        },
    )


def _allow_origin(request: Any, response: Response) -> None:
    if request.speaks == "page":
        return
    response.headers.add("Vary", "Origin")
    if origin := _allowed_origin(request):
        response.headers["Access-Control-Allow-Origin"] = origin
        response.headers["Access-Control-Expose-Headers"] = "X-Request-Id, Retry-After"
        response.headers["Cross-Origin-Resource-Policy"] = "cross-origin"
        # Only the proxies set a cookie; nothing else may be asked for with credentials.
        # (Not request.path: that raises where the path is no UTF-8.)
        if "/v1/clients/" in request.environ["PATH_INFO"]:
            response.headers["Access-Control-Allow-Credentials"] = "true"


def _allowed_origin(request: Any) -> str | None:
    """The request's Origin if it is listed, letter for letter; never reflected otherwise."""
    if request.speaks == "page":
        return None
    origin = request.headers.get("Origin")
    return origin if origin in request.cfg.cors_origins else None
