"""Browsers and client addresses that an account's owner recently logged in from.

They have a separate limit for the account, so others who use up the account's limit cannot keep the
owner out (OWASP, "Slow Down Online Guessing Attacks with Device Cookies").

The ``device`` cookie is the proof that a browser has logged in to the account before. On https its
name is ``__Host-device``, which other hosts of the domain cannot set (RFC 6265bis, section 4.1.3).
It is no credential: a login without it is counted with those of all other browsers.

`subject_of` is the key under which the addresses and browsers of an owner are recognized. `forget`
changes it, so that none of them is recognized any more.
"""

import secrets
from datetime import datetime, timedelta
from typing import TYPE_CHECKING

from authsite import clock
from authsite.crypto.keys import KeyRing
from authsite.crypto.sealed import SealedFormat
from authsite.http import cookies
from authsite.request_state import Request

if TYPE_CHECKING:
    from .limiter import RateLimiter

RECOGNIZED_FOR = timedelta(days=30)  # since the last login, see `remember`
FORGOTTEN_FOR = 10 * 365 * 24 * 60 * 60  # seconds; must be longer than anything is recognized

_COOKIE = SealedFormat("16s")


def subject_of(limiter: "RateLimiter", owner: str) -> str:
    """The key for what is recognized of ``owner``; no login name has a blank, so it is unique."""
    times = limiter.storage.get(_forgotten(limiter, owner))
    return f"{owner} {times}" if times else owner


def forget(limiter: "RateLimiter", owner: str) -> None:
    """From now on no address and no browser of ``owner`` is recognized, until it logs in again."""
    limiter.storage.incr(_forgotten(limiter, owner), FORGOTTEN_FOR)


def recognize(
    limiter: "RateLimiter", ring: KeyRing, subject: str, address: str, sent: str | None
) -> tuple[str, ...]:
    """The browser, or else the address, that an owner recently logged in from, else nothing.

    ``subject``: `subject_of` the owner; ``sent``: the device cookie as it was sent.
    """
    if browser := decode_cookie(ring, subject, sent, clock.now()):
        return ("device", browser)
    recent = limiter.storage.get(_key(limiter, subject, address)) > 0
    return ("address", address) if recent else ()


def remember(limiter: "RateLimiter", subject: str, address: str) -> None:
    """Record a login from ``address``, unless recorded in the last 15 days."""
    key, seconds = _key(limiter, subject, address), int(RECOGNIZED_FOR.total_seconds())
    if limiter.storage.get_expiry(key) - clock.now().timestamp() < seconds / 2:
        limiter.storage.clear(key)
        limiter.storage.incr(key, seconds)


def new_cookie(ring: KeyRing, subject: str, sent: str | None) -> str:
    """The cookie for a login just now; the browser keeps the id of a valid cookie that it sent."""
    now = clock.now()
    device = decode_cookie(ring, subject, sent, now)
    device_id = bytes.fromhex(device) if device else secrets.token_bytes(16)
    expires = int((now + RECOGNIZED_FOR).timestamp())
    return _COOKIE.seal(ring, device_id, expires=expires, bound=subject.encode())


def decode_cookie(ring: KeyRing, subject: str, value: str | None, now: datetime) -> str | None:
    """The id of the browser if ``value`` is ours, for ``subject`` and not expired; else None."""
    values = _COOKIE.unseal(ring, value, now, subject.encode()) if value else None
    return values[0].hex() if values else None


def set_cookie(request: Request) -> None:
    """Set the cookie for the user who has just logged in with this request, if one has."""
    value = request.authsite.ctx.limits.new_device_cookie()
    if value is None:
        return
    name = cookies.host_name(request, cookies.DEVICE)
    cookie = cookies.Cookie(name, value, int(RECOGNIZED_FOR.total_seconds()))
    cookies.write(request, request.response, cookie)


def sent_cookie(request: Request) -> str | None:
    """The ``device`` cookie as the browser sent it, or None; its value proves nothing yet."""
    return cookies.read(request, cookies.host_name(request, cookies.DEVICE))


def _key(limiter: "RateLimiter", subject: str, address: str) -> str:
    return f"recognized/{limiter.hashed(subject, address)}"


def _forgotten(limiter: "RateLimiter", owner: str) -> str:
    return f"forgotten/{limiter.hashed(owner)}"
