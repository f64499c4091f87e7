"""Reset tokens. No table: the token is an expiry and a MAC over what a reset changes.

``2 zero bytes | expiry, Unix seconds (8) | key fingerprint (6) | MAC (32)`` in base64url, 64
characters without padding. The MAC covers user id, epoch and stored address too, so that every
reset, password change, disabling or new address ends all links that were mailed before.
"""

import binascii
import struct
from base64 import urlsafe_b64encode
from datetime import datetime
from uuid import UUID

from authsite.keys import KeyRing

PURPOSE = "reset password"

_PAYLOAD = struct.Struct(">2xQ6s")
_LENGTH = 64
_TO_STANDARD = str.maketrans("-_+/", "+/  ")


def make(ring: KeyRing, user_id: UUID, epoch: int, address: str, expires: datetime) -> str:
    """The token for this state of the user, good until ``expires`` (whole seconds)."""
    key = ring.signing
    payload = _PAYLOAD.pack(int(expires.timestamp()), key.fingerprint)
    mac = key.mac(_message(payload, user_id, epoch, address))
    return urlsafe_b64encode(payload + mac).decode()


def is_good(
    ring: KeyRing, text: str, user_id: UUID, epoch: int, address: str, now: datetime
) -> bool:
    """Whether ``text`` is a token for this state of the user, and not out of date."""
    if len(text) != _LENGTH:
        return False
    try:
        raw = binascii.a2b_base64(text.translate(_TO_STANDARD), strict_mode=True)
    except ValueError:
        return False
    payload, mac = raw[: _PAYLOAD.size], raw[_PAYLOAD.size :]
    expires, fingerprint = _PAYLOAD.unpack(payload)
    message = _message(payload, user_id, epoch, address)
    return ring.verify(fingerprint, message, mac) and bool(expires > now.timestamp())


def _message(payload: bytes, user_id: UUID, epoch: int, address: str) -> bytes:
    return payload + user_id.bytes + struct.pack(">Q", epoch) + address.encode()
