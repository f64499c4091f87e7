"""The cookies of a browser session.

The session cookie is for this host alone. With `session-cookie-domain` the guard cookie is added,
for all hosts of the domain; see `authsite.sign_in.sessions.service`.
"""

from pyramid.response import Response

from authsite.platform.http import cookies
from authsite.platform.http.own_routes import is_forward_auth, is_own_request
from authsite.platform.request_state import Request
from authsite.platform.runtime import clock

from .active import ActiveBrowserSession
from .service import RenewedSession, guard_hash, guard_key, row_hash

MAX_KEY_LENGTH = 128


def session_key(request: Request) -> str | None:
    """The session key that the browser sent, or None."""
    return _read(request, cookies.host_name(request, cookies.SESSION))


def presented(request: Request) -> str | None:
    """The hash in the row of the session whose key the browser sent, or None.

    Our own pages read the session cookie. With `session-cookie-domain` forward auth and the routes
    of a host application read the guard cookie instead.
    """
    shared = request.authsite.settings.session_cookie_domain is not None
    if not shared or _is_own_page(request):
        key = session_key(request)
        return row_hash(key, shared=shared) if key else None
    key = _read(request, _guard_name(request))
    return guard_hash(key) if key else None


def set_session(request: Request, key: str, *, remember: bool) -> None:
    """Set the cookies: until the browser is closed, or for `session-remember`."""
    lifetime = request.authsite.settings.session_remember
    max_age = int(lifetime.total_seconds()) if remember else None
    _write(request, key, max_age)
    if request.authsite.settings.session_cookie_domain:
        _write_guard(request, request.response, guard_key(key), max_age)


def renew_session(request: Request, renewed: RenewedSession | None) -> None:
    """Set the cookies to the new key of their session, if the session was renewed."""
    if renewed:
        set_session(request, renewed.key, remember=renewed.remember)


def clear_session(request: Request) -> None:
    """Delete the cookies."""
    _write(request, "", 0)
    if request.authsite.settings.session_cookie_domain:
        _write_guard(request, request.response, "", 0)


def restore_guard(request: Request, session: ActiveBrowserSession) -> None:
    """On a page of ours: let the response set the guard cookie unless it fits ``session``.

    Without it the page would lead a browser on that the guard sends back here. The cookie may have
    expired, or another host of the domain may have replaced it.
    """
    if not request.authsite.settings.session_cookie_domain or not _is_own_page(request):
        return
    left = session.expires_at - clock.now()
    max_age = int(left.total_seconds()) if session.remember else None

    def set_missing(request: Request, response: Response) -> None:
        key = session_key(request)  # as the view has left it
        wanted = guard_key(key) if key else None
        if wanted and _read(request, _guard_name(request)) != wanted:
            _write_guard(request, response, wanted, max_age)

    request.add_response_callback(set_missing)


def _is_own_page(request: Request) -> bool:
    return is_own_request(request) and not is_forward_auth(request)


def _guard_name(request: Request) -> str:
    """`session-cookie-domain` excludes the prefix ``__Host-``."""
    secure = cookies.is_secure(request)
    return f"{cookies.SECURE}{cookies.GUARD}" if secure else cookies.GUARD


def _read(request: Request, name: str) -> str | None:
    value = cookies.read(request, name)
    return value if value and len(value) <= MAX_KEY_LENGTH else None


def _write(request: Request, key: str, max_age: int | None) -> None:
    name = cookies.host_name(request, cookies.SESSION)
    cookies.write(request, request.response, cookies.Cookie(name, key, max_age))


def _write_guard(request: Request, response: Response, key: str, max_age: int | None) -> None:
    domain = request.authsite.settings.session_cookie_domain
    cookie = cookies.Cookie(_guard_name(request), key, max_age, domain=domain)
    cookies.write(request, response, cookie)
