"""Cross-origin requests from the origins in setting `cors-origins` (Fetch standard, CORS)."""

from pyramid.response import Response

from authsite.request_state import Request

from .routes import is_forward_auth

METHODS = "GET, POST, PUT, PATCH, DELETE"
REQUEST_HEADERS = (
    "Authorization, Content-Type, Accept, Accept-Language, X-Requested-With, X-Request-Id"
)
RESPONSE_HEADERS = "X-Request-Id, Retry-After, X-Auth-Scope"
PREFLIGHT_LIFETIME = "600"  # seconds


def preflight(request: Request) -> Response | None:
    """The response to a CORS preflight request of an allowed origin, or None."""
    if request.method != "OPTIONS" or "Access-Control-Request-Method" not in request.headers:
        return None
    if _allowed_origin(request) is None:
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
    if not request.authsite.settings.cors_origins or request.authsite.error_format == "html":
        return
    response.headers.add("Vary", "Origin")
    if origin := _allowed_origin(request):
        response.headers["Access-Control-Allow-Origin"] = origin
        response.headers["Access-Control-Expose-Headers"] = RESPONSE_HEADERS
        response.headers["Cross-Origin-Resource-Policy"] = "cross-origin"
        if _allows_cookies(request):
            response.headers["Access-Control-Allow-Credentials"] = "true"


def _allows_cookies(request: Request) -> bool:
    """Whether the path sets or clears the refresh cookie: the proxy endpoints and logout."""
    prefix = request.registry["authsite.http"].prefix
    # `request.path_info` raises for a path that is not UTF-8.
    path: str = request.environ["PATH_INFO"].removeprefix(prefix)
    return path.startswith("/v1/clients/") or path.rstrip("/") == "/v1/logout"


def _allowed_origin(request: Request) -> str | None:
    """The request's Origin if `cors-origins` lists exactly this text, else None."""
    if request.authsite.error_format == "html" or is_forward_auth(request):
        return None
    origin = request.headers.get("Origin")
    return origin if origin in request.authsite.settings.cors_origins else None
