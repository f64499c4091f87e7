"""The parameter ``state``: a sealed value that a way to a provider begins with and returns with.

It is bound to the browser by a digest over a random number and the value of the browser's cookie,
so a provider cannot recognize a browser by it. Nonce and PKCE verifier are HMACs of it under the
value of the cookie, which only the browser has: there is no row before the return.
"""

import hmac
import secrets
import uuid
from base64 import urlsafe_b64encode
from datetime import UTC, datetime
from hashlib import sha256
from typing import NamedTuple

from authsite.platform.crypto.keys import KeyRing
from authsite.platform.crypto.sealed import SealedFormat
from authsite.platform.runtime import clock
from authsite.platform.settings.sections.providers import Provider

from .browser import LIFETIME
from .failures import ProviderFailure, ProviderRefused
from .values import Purpose, Start

KEY_PURPOSE = "provider-state"
LONGEST_NEXT = 512  # bytes
_PURPOSES = tuple(Purpose)
_REMEMBER, _STORED, _PROMPTED = 1, 2, 4
# Provider, purpose, flags, session, random, digest of the browser; and `next`, or the key under
# which it is stored. Three lengths, so that most values stay short.
_FORMATS = {size: SealedFormat(f"32sBB16s16s32s{size}s") for size in (0, 128, LONGEST_NEXT)}


class State(NamedTuple):
    """What a ``state`` contains. With ``stored``, ``start.next`` is a key of `stored_requests`."""

    provider: str
    start: Start
    stored: bool
    expires_at: datetime


def seal(ring: KeyRing, browser: str, provider: Provider, start: Start, stored: bool) -> str:
    """The value of ``state``, valid for ten minutes in this browser."""
    target = (start.next or "").encode()
    size = next(size for size in _FORMATS if len(target) <= size)
    salt = secrets.token_bytes(16)
    return _FORMATS[size].seal(
        ring,
        provider.name.encode(),
        _PURPOSES.index(start.purpose),
        _REMEMBER * start.remember | _STORED * stored | _PROMPTED * start.prompted,
        start.session_id.bytes if start.session_id else b"",
        salt,
        _digest(salt, browser),
        target,
        expires=int((clock.now() + LIFETIME).timestamp()),
    )


def unseal(ring: KeyRing, browser: str | None, provider: Provider, text: str) -> State:
    """What `seal` has sealed, for this browser and provider. Raises `ProviderRefused`."""
    found = (each.unseal_expired(ring, text) for each in _FORMATS.values())
    fields = next(filter(None, found), None)
    if fields is None:
        raise ProviderRefused(ProviderFailure.STATE, provider)
    name, purpose, flags, session, salt, digest, target, expires = fields
    if expires <= clock.now().timestamp():
        raise ProviderRefused(ProviderFailure.TOO_OLD, provider)
    if browser is None or not hmac.compare_digest(_digest(salt, browser), digest):
        raise ProviderRefused(ProviderFailure.OTHER_BROWSER, provider)
    if _text(name) != provider.name:
        raise ProviderRefused(ProviderFailure.OTHER_PROVIDER, provider)
    start = Start(
        _PURPOSES[purpose],
        bool(flags & _REMEMBER),
        _text(target) or None,
        uuid.UUID(bytes=session) if any(session) else None,
        bool(flags & _PROMPTED),
    )
    return State(provider.name, start, bool(flags & _STORED), datetime.fromtimestamp(expires, UTC))


def nonce_of(browser: str, state: str) -> str:
    """The ``nonce`` of a start (OpenID Connect Core 1.0, section 15.5.2)."""
    return _derived(browser, "nonce", state)


def verifier_of(browser: str, state: str) -> str:
    """The PKCE ``code_verifier`` of a start (RFC 7636, section 4.1)."""
    return _derived(browser, "verifier", state)


def challenge_of(verifier: str) -> str:
    """The ``code_challenge`` with the method S256 (RFC 7636, section 4.2)."""
    return _base64url(sha256(verifier.encode()).digest())


def _digest(salt: bytes, browser: str) -> bytes:
    return sha256(salt + browser.encode()).digest()


def _derived(browser: str, use: str, state: str) -> str:
    return _base64url(hmac.digest(browser.encode(), f"{use} {state}".encode(), "sha256"))


def _text(field: bytes) -> str:
    return field.rstrip(b"\0").decode()


def _base64url(raw: bytes) -> str:
    return urlsafe_b64encode(raw).rstrip(b"=").decode()
