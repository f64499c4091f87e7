"""The cookie of a browser session."""

from authsite.http import cookies
from authsite.request_state import Request

from .service import RenewedSession

MAX_KEY_LENGTH = 128


def session_key(request: Request) -> str | None:
    """The session key that the browser sent, or None."""
    value = cookies.read(request, _name(request))
    return value if value and len(value) <= MAX_KEY_LENGTH else None


def set_session(request: Request, key: str, *, remember: bool) -> None:
    """Set the cookie: until the browser is closed, or for `session-remember`."""
    lifetime = request.authsite.settings.session_remember
    _write(request, key, int(lifetime.total_seconds()) if remember else None)


def renew_session(request: Request, renewed: RenewedSession | None) -> None:
    """Set the cookie to the new key of its session, if the session was renewed."""
    if renewed:
        set_session(request, renewed.key, remember=renewed.remember)


def clear_session(request: Request) -> None:
    """Delete the cookie."""
    _write(request, "", 0)


def _name(request: Request) -> str:
    """With `session-cookie-domain` the cookie is for several hosts, which `__Host-` excludes."""
    if request.authsite.settings.session_cookie_domain and cookies.is_secure(request):
        return f"__Secure-{cookies.SESSION}"
    return cookies.host_name(request, cookies.SESSION)


def _write(request: Request, key: str, max_age: int | None) -> None:
    domain = request.authsite.settings.session_cookie_domain
    cookie = cookies.Cookie(_name(request), key, max_age, domain=domain)
    cookies.write(request, request.response, cookie)
