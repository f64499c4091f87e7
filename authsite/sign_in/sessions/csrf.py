"""Cross-site request forgery: a token in every form, and the Origin header.

The token is a MAC over a random cookie and the session: the signed double-submit cookie of OWASP's
CSRF Prevention Cheat Sheet. It needs no storage, and a login changes it.
"""

import secrets

from authsite.platform.audit.events import Event
from authsite.platform.http import cookies
from authsite.platform.http.errors import ApiError
from authsite.platform.i18n import _
from authsite.platform.request_state import Request

from .cookies import session_key
from .keys import key_hash

MAX_SEED_LENGTH = 64  # characters


class CsrfError(ApiError):
    """The form comes from another site, or from a page that is older than the session."""

    status = 403
    code = "csrf"
    audit_event = Event.FORM_CROSS_ORIGIN
    message = _("This page was open for too long. Check what you entered and send it again.")


def seed(request: Request) -> str:
    """The random value in the browser's CSRF cookie; without one, a new cookie is set."""
    name = cookies.host_name(request, cookies.CSRF)
    value = cookies.read(request, name)
    if not value or len(value) > MAX_SEED_LENGTH:
        value = secrets.token_urlsafe(16)
        cookie = cookies.Cookie(name, value, max_age=None)
        request.add_response_callback(
            lambda request, response: cookies.write(request, response, cookie)
        )
    return value


def token(request: Request) -> str:
    """The CSRF token of this browser and session, for a hidden field."""
    return str(request.authsite.services.keys["csrf"].sign(_message(request)))


def check(request: Request, submitted: str | None) -> None:
    """Raise `CsrfError` unless the origin is ours and ``submitted`` is the browser's token.

    A form of another origin is shown again empty: filled in by that origin, it would need only the
    person's click to be ours.
    """
    if _is_foreign(request):
        error = CsrfError()
        error.forgets_form = True
        raise error
    ring = request.authsite.services.keys["csrf"]
    if not ring.is_signature(_message(request), submitted or ""):
        raise CsrfError


def _is_foreign(request: Request) -> bool:
    origin = request.headers.get("Origin")
    if origin is not None:
        return origin != request.authsite.address.origin
    return request.headers.get("Sec-Fetch-Site") in ("cross-site", "same-site")


def _message(request: Request) -> bytes:
    session = session_key(request)
    return f"{request.authsite.csrf_seed}\n{key_hash(session) if session else ''}".encode()
