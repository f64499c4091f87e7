"""Browsers and client addresses that an account's owner recently logged in from.

They have a separate limit for the account, so others who use up the account's limit cannot keep the
owner out (OWASP, "Slow Down Online Guessing Attacks with Device Cookies").

The ``device`` cookie is the proof that a browser has logged in to the account before. On https its
name is ``__Host-device``, which other hosts of the domain cannot set (RFC 6265bis, section 4.1.3).
It is not a credential: a login without it is counted with those of all other browsers.

Cookies and addresses are bound to `recognition_version`, a counter in the row of the user. Raising
it ends all of them (`users.service.end_sign_ins`), whatever the counters of the limits still have
or have lost.
"""

import secrets
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, NamedTuple

from authsite.platform.crypto.keys import KeyRing
from authsite.platform.crypto.sealed import SealedFormat
from authsite.platform.runtime import clock

from .storage import Windows

if TYPE_CHECKING:
    from .limiter import RateLimiter

RECOGNIZED_FOR = timedelta(days=30)  # since the last login, see `remember`

_COOKIE = SealedFormat("16sQI")  # the fields of `Browser`


class Owner(NamedTuple):
    """Whose browsers and addresses are recognized: a user, or a login name that no user has.

    ``version``: the user's `recognition_version`; 0 for an unknown name.
    """

    key: str
    version: int = 0


class Recognition(NamedTuple):
    """What is recognized of a request: the browser, or else the address, or nothing.

    ``subject``: what the limits count apart. ``since``: when the browser was first recognized.
    """

    subject: tuple[str, ...] = ()
    since: datetime | None = None


class Browser(NamedTuple):
    """A recognized browser; ``since``: when it was first recognized, in Unix seconds."""

    id: bytes
    since: int


def recognize(
    ring: KeyRing, owner: Owner, address: str, sent: str | None
) -> tuple[Recognition, Recognition]:
    """The recognition from an address that is not recognized, and from one that is.

    They are the same for a recognized browser. ``sent``: the device cookie as it was sent.
    """
    if browser := decode_cookie(ring, owner, sent, clock.now()):
        since = datetime.fromtimestamp(browser.since, UTC)
        known = Recognition(("device", browser.id.hex()), since)
        return known, known
    return Recognition(), Recognition(("address", address))


def remember(
    limiter: "RateLimiter", owner: Owner, address: str, seen: Windows | None = None
) -> None:
    """Record a login from ``address``, unless recorded in the last 15 days.

    ``seen``: what was read of it before, if it was.
    """
    key, seconds = address_key(limiter, owner, address), int(RECOGNIZED_FOR.total_seconds())
    if (seen or limiter.storage).get_expiry(key) - clock.now().timestamp() < seconds / 2:
        limiter.storage.clear(key)
        limiter.storage.incr(key, seconds)


def new_cookie(ring: KeyRing, owner: Owner, sent: str | None) -> str:
    """The cookie of a browser that is recognized now; one that sent a valid cookie stays the same.

    ``sent``: see `recognize`.
    """
    now = clock.now()
    browser = decode_cookie(ring, owner, sent, now)
    if browser is None:
        browser = Browser(secrets.token_bytes(16), int(now.timestamp()))
    expires = int((now + RECOGNIZED_FOR).timestamp())
    return _COOKIE.seal(ring, *browser, owner.version, expires=expires, bound=owner.key.encode())


def decode_cookie(ring: KeyRing, owner: Owner, value: str | None, now: datetime) -> Browser | None:
    """The browser if ``value`` is ours, for ``owner`` and not expired; else None."""
    if value and (values := _COOKIE.unseal(ring, value, now, owner.key.encode())):
        device_id, since, version, _expires = values
        return Browser(device_id, since) if version == owner.version else None
    return None


def address_key(limiter: "RateLimiter", owner: Owner, address: str) -> str:
    """The key under which an address that ``owner`` has logged in from is stored."""
    version = [f"version {owner.version}"] if owner.version else []
    return f"recognized/{limiter.hashed(owner.key, *version, address)}"
