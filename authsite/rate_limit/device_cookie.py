"""The ``device`` cookie: proof that a browser has logged in to an account before.

On https its name is ``__Host-device``, which other hosts of the domain cannot set (RFC 6265bis,
section 4.1.3). A browser that sends it has a separate limit for the account, so others who use up
the account's limit cannot keep the owner out (OWASP, "Slow Down Online Guessing Attacks with Device
Cookies"). It is no credential: a login without it is counted with those of all other browsers.
"""

import secrets
from datetime import datetime, timedelta

from authsite.crypto.keys import KeyRing
from authsite.crypto.sealed import SealedFormat
from authsite.http import cookies
from authsite.request_state import Request

LIFETIME = timedelta(days=30)

_FORMAT = SealedFormat("16s")


def encode(ring: KeyRing, subject: str, device: str | None, now: datetime) -> str:
    """The cookie for a login just now; ``device`` is its old id, if it had one.

    ``subject``: `recognized.subject_of` the user.
    """
    device_id = bytes.fromhex(device) if device else secrets.token_bytes(16)
    expires = int((now + LIFETIME).timestamp())
    return _FORMAT.seal(ring, device_id, expires=expires, bound=subject.encode())


def decode(ring: KeyRing, subject: str, value: str | None, now: datetime) -> str | None:
    """The id of the browser if ``value`` is ours, for ``subject`` and not expired; else None."""
    values = _FORMAT.unseal(ring, value, now, subject.encode()) if value else None
    return values[0].hex() if values else None


def set_cookie(request: Request) -> None:
    """Set the cookie for the user who has just logged in with this request, if one has."""
    value = request.authsite.ctx.limits.new_device_cookie()
    if value is None:
        return
    name = cookies.host_name(request, cookies.DEVICE)
    cookie = cookies.Cookie(name, value, int(LIFETIME.total_seconds()))
    cookies.write(request, request.response, cookie)


def sent_cookie(request: Request) -> str | None:
    """The ``device`` cookie as the browser sent it, or None; its value proves nothing yet."""
    return cookies.read(request, cookies.host_name(request, cookies.DEVICE))
