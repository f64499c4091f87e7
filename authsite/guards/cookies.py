"""The cookie of a web session, and the cookie that CSRF tokens hang on."""

import secrets
from typing import Any
from urllib.parse import urlsplit

from authsite.login.sessions import REMEMBERED


def session_key(request: Any) -> str | None:
    """The session key that the browser sent, or None."""
    value: str | None = request.cookies.get(_name(request, ""))
    return value if value and len(value) <= 128 else None


def set_session(request: Any, response: Any, key: str, *, remember: bool) -> None:
    """Give the browser a session key, for as long as it runs or is remembered."""
    lifetime = int(REMEMBERED.total_seconds()) if remember else None
    _set(request, response, _name(request, ""), key, lifetime, request.cfg.session_cookie_domain)


def clear_session(request: Any, response: Any) -> None:
    """Take the session key away."""
    _set(request, response, _name(request, ""), "", 0, request.cfg.session_cookie_domain)


def csrf_seed(request: Any) -> str:
    """The random value in this browser's CSRF cookie; a new one is set if there is none."""
    name = _name(request, "-csrf", shared=False)
    seed: str | None = request.cookies.get(name)
    if not seed or len(seed) > 64:
        seed = secrets.token_urlsafe(16)
        value = seed
        request.add_response_callback(
            lambda _request, response: _set(request, response, name, value, None, None)
        )
    return seed


def _name(request: Any, suffix: str, *, shared: bool = True) -> str:
    """``__Host-`` keeps other hosts of the domain from setting it; plain http knows no prefix."""
    if urlsplit(request.base_url).scheme != "https":
        return f"authsite{suffix}"
    domain = shared and request.cfg.session_cookie_domain
    return f"__Secure-authsite{suffix}" if domain else f"__Host-authsite{suffix}"


def _set(
    request: Any, response: Any, name: str, value: str, max_age: int | None, domain: str | None
) -> None:
    response.set_cookie(
        name,
        value,
        max_age=max_age,
        path="/",
        domain=domain,
        secure=urlsplit(request.base_url).scheme == "https",
        httponly=True,
        samesite="Lax",
    )
