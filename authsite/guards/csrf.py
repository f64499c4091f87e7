"""Cross-site request forgery: a token in every form, and the Origin header.

The token is a MAC over a random cookie and the session, so it needs no storage, is another one
after login, and a foreign page can neither read nor compute it (OWASP: signed double submit).
"""

from typing import Any
from urllib.parse import urlsplit

from authsite.http.errors import ApiError
from authsite.login.sessions import key_hash
from authsite.texts import text as _

from .cookies import csrf_seed, session_key


class ForeignForm(ApiError):
    """The form did not come from a page of ours, or that page is older than the session."""

    status = 403
    code = "csrf"
    message = _("This page was open for too long. Nothing is lost: please send it once more.")


def token(request: Any) -> str:
    """The CSRF token of this browser and session, for a hidden field."""
    ring = request.registry["authsite.csrf_keys"]
    return str(ring.signing.mac(_message(request)).hex())


def check(request: Any, given: str | None) -> None:
    """Raise `ForeignForm` unless origin and token are ours, whatever the scheme seems to be."""
    own = urlsplit(request.base_url)
    origin = request.headers.get("Origin")
    if origin is not None and origin != f"{own.scheme}://{own.netloc}":
        raise ForeignForm
    if origin is None and request.headers.get("Sec-Fetch-Site") in ("cross-site", "same-site"):
        raise ForeignForm
    ring = request.registry["authsite.csrf_keys"]
    try:
        mac = bytes.fromhex(given or "")
    except ValueError:
        mac = b""
    if not ring.verify_any(_message(request), mac):
        raise ForeignForm


def _message(request: Any) -> bytes:
    session = session_key(request)
    return f"{csrf_seed(request)}\n{key_hash(session) if session else ''}".encode()
