"""The refresh cookie, and the check that a page of the same site uses it."""

from authsite.http import cookies
from authsite.http.address import route_path
from authsite.http.bodies import JSON
from authsite.request_state import Request

from .errors import ForeignOrigin


def set_cookie(request: Request, token: str) -> None:
    """Set the cookie to the refresh token, for the routes of this client only."""
    lifetime = int(request.authsite.settings.refresh_expires_in.total_seconds())
    _write(request, request.matchdict["client"], token, lifetime)


def clear_all(request: Request) -> None:
    """Delete the cookies of all configured clients (at logout), under both spellings."""
    for client in request.authsite.settings.clients:
        for name in dict.fromkeys((client, client.replace("_", "-"))):
            _write(request, name, "", 0)


def read_token(request: Request) -> str | None:
    """The refresh token in the cookie, or None.

    Raises `ForeignOrigin` for a request without an origin that a form of any site could send.
    """
    token = cookies.read(request, cookies.REFRESH, _path(request, request.matchdict["client"]))
    has_origin = "Origin" in request.headers or "Sec-Fetch-Site" in request.headers
    if token and not has_origin and request.content_type.strip().lower() != JSON:
        raise ForeignOrigin
    return token


def require_same_site(request: Request) -> None:
    """Raise `ForeignOrigin` if a page of another site sent ``request``.

    SameSite=Strict withholds the cookie from other sites, but not from other origins of the same
    site. Any site could *set* one by a form, which would sign a visitor in to another account
    (login CSRF, OWASP). Programs other than browsers send neither header.
    """
    origin, site = request.headers.get("Origin"), request.headers.get("Sec-Fetch-Site")
    if origin is None and site is None:
        return
    if site in ("same-origin", "none"):
        return
    if origin not in (request.authsite.address.origin, *request.authsite.settings.cors_origins):
        raise ForeignOrigin


def _write(request: Request, client: str, value: str, max_age: int) -> None:
    path = _path(request, client)
    cookie = cookies.Cookie(cookies.REFRESH, value, max_age, path=path, samesite="Strict")
    cookies.write(request, request.response, cookie)


def _path(request: Request, client: str) -> str:
    return route_path(request, "authsite.proxy.login", client=client).removesuffix("/login")
