"""The refresh cookie, and who may use it."""

from typing import Any
from urllib.parse import urlsplit

from .errors import ForeignOrigin

NAME = "refreshToken"


def set_cookie(request: Any, token: str) -> None:
    """Give the browser the refresh token, for this client's own routes only."""
    lifetime = int(request.cfg.refresh_expires_in.total_seconds())
    _write(request, request.matchdict["client"], token, lifetime)


def clear_all(request: Any) -> None:
    """Take the cookies of all configured clients away (at logout), under both spellings."""
    for client in request.cfg.clients:
        for name in dict.fromkeys((client, client.replace("_", "-"))):
            _write(request, name, "", 0)


def token_from(request: Any) -> str | None:
    """The cookie's refresh token, or None without one.

    SameSite=Strict keeps other sites out; against a foreign origin on the *same* site the
    Origin header is checked too, and without one the request must show that it is no form.
    Raises `ForeignOrigin`, before anything is rotated.
    """
    token: str | None = request.cookies.get(NAME)
    if token is None:
        return None
    origin = request.headers.get("Origin")
    if origin is None:
        same = request.headers.get("Sec-Fetch-Site") == "same-origin"
        allowed = same or request.content_type == "application/json"
    else:
        own = urlsplit(request.base_url)
        allowed = origin in (f"{own.scheme}://{own.netloc}", *request.cfg.cors_origins)
    if not allowed:
        raise ForeignOrigin
    return token


def _write(request: Any, client: str, value: str, max_age: int) -> None:
    path = request.route_path("authsite.proxy.login", client=client).removesuffix("/login")
    request.response.set_cookie(
        NAME,
        value,
        max_age=max_age,
        path=path,
        httponly=True,
        secure=urlsplit(request.base_url).scheme == "https",
        samesite="Strict",
    )
