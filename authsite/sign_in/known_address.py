"""The cookie with the e-mail address that a form has just taken.

The page after the form names the address, and the next forms have it already. It is the address as
entered: neither the cookie nor its length depends on whether an account has it. It is signed, since
another host of the domain could set it on plain http, and it opens nothing.
"""

from datetime import timedelta

from authsite.platform.crypto.sealed import SealedFormat
from authsite.platform.http import cookies
from authsite.platform.request_state import Request
from authsite.platform.runtime import clock
from authsite.sign_in.fields import read_address

LIFETIME = timedelta(hours=1)
PURPOSE = "known address"

_FORMAT = SealedFormat("255p")  # a length and at most 254 bytes: RFC 5321, section 4.5.3.1.3


def keep_address(request: Request, email: str) -> None:
    """Keep the address in ``email`` for an hour. Raises what `read_address` raises."""
    address = read_address(email).display.encode()
    expires = int((clock.now() + LIFETIME).timestamp())
    sealed = _FORMAT.seal(request.authsite.services.keys[PURPOSE], address, expires=expires)
    _write(request, sealed, int(LIFETIME.total_seconds()))


def forget_address(request: Request) -> None:
    """Delete the cookie, if the browser has it."""
    if request.authsite.known_address is not None:
        _write(request, "", 0)


def known_address(request: Request) -> str | None:
    """``request.authsite.known_address``: the address that this browser has just entered."""
    value = cookies.read(request, cookies.host_name(request, cookies.ADDRESS))
    if not value:
        return None
    values = _FORMAT.unseal(request.authsite.services.keys[PURPOSE], value, clock.now())
    return values[0].decode() if values else None


def _write(request: Request, value: str, max_age: int) -> None:
    name = cookies.host_name(request, cookies.ADDRESS)
    cookies.write(request, request.response, cookies.Cookie(name, value, max_age))
