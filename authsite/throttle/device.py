"""The ``device`` cookie: this browser has logged in to this account before.

Whoever shows it has an account's limit of their own, so strangers who use up the account's cannot
keep the owner out (OWASP, "Slow Down Online Guessing Attacks with Device Cookies"). It opens
nothing: without it a login is only counted together with those of strangers.
"""

import binascii
import secrets
from base64 import urlsafe_b64decode, urlsafe_b64encode
from datetime import datetime, timedelta
from typing import Any
from urllib.parse import urlsplit

from authsite.keys import FINGERPRINT_SIZE, MAC_SIZE, KeyRing

NAME = "device"
LIFETIME = timedelta(days=30)

_ID, _EXPIRY = 16, 8  # bytes
_SIGNED = _ID + _EXPIRY
_SIZE = _SIGNED + FINGERPRINT_SIZE + MAC_SIZE
_TEXT_SIZE = -(-_SIZE // 3) * 4


def encode(keys: KeyRing, name: str, device: str | None, now: datetime) -> str:
    """The cookie for a login to ``name`` just now; ``device`` is its old id, if it had one."""
    device_id = bytes.fromhex(device) if device else secrets.token_bytes(_ID)
    expires = int((now + LIFETIME).timestamp())
    signed = device_id + expires.to_bytes(_EXPIRY, "big")
    key = keys.signing
    return urlsafe_b64encode(signed + key.fingerprint + key.mac(signed + name.encode())).decode()


def decode(keys: KeyRing, name: str, value: str | None, now: datetime) -> str | None:
    """The id of the browser if ``value`` is ours, for ``name`` and not out of date; else None."""
    if value is None or len(value) != _TEXT_SIZE:
        return None
    try:
        raw = urlsafe_b64decode(value)
    except (binascii.Error, ValueError):
        return None
    signed, fingerprint, mac = raw[:_SIGNED], raw[_SIGNED:-MAC_SIZE], raw[-MAC_SIZE:]
    if not keys.verify(fingerprint, signed + name.encode(), mac):
        return None
    expires = int.from_bytes(signed[_ID:], "big")
    return signed[:_ID].hex() if now.timestamp() < expires else None


def set_cookie(request: Any, name: str) -> None:
    """Let this browser keep its own limit for ``name``; call it when a login there succeeded."""
    value = request.attempts.device_for(name)
    if value is None:
        return
    request.response.set_cookie(
        NAME,
        value,
        max_age=LIFETIME,
        path="/",
        httponly=True,
        secure=urlsplit(request.base_url).scheme == "https",
        samesite="Lax",
    )
