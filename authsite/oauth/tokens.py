"""The token codec: what a token says, and how rubbish is refused without a query.

A token is ``at_`` or ``rt_`` and the base64url of 66 bytes::

    family id (16) | generation (4) | expiry, Unix seconds (8) | key fingerprint (6) | MAC (32)

The MAC is HMAC-SHA-256 over the kind and everything before it, under a key derived from
``authsite.secret``. The database holds none of it, so a dump of it yields no token. 66 bytes are
88 characters without padding or spare bits: each token has exactly one spelling.
"""

import binascii
import struct
from base64 import urlsafe_b64encode
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from authsite.keys import KeyRing

ACCESS = "at_"
REFRESH = "rt_"

_PAYLOAD = struct.Struct(">16sIQ6s")
_LENGTH = 3 + 88


@dataclass(frozen=True, slots=True)
class Token:
    """A token whose MAC was right and whose own expiry lies ahead."""

    family_id: UUID
    generation: int
    expires: int  # Unix seconds


class TokenCodec:
    """Writes and reads tokens; each kind has a key of its own."""

    def __init__(self, secrets: Sequence[str]) -> None:
        self._rings = {
            ACCESS: KeyRing(secrets, "access token"),
            REFRESH: KeyRing(secrets, "refresh token"),
        }

    def encode(self, kind: str, family_id: UUID, generation: int, expires: int) -> str:
        """The token text; ``expires`` in Unix seconds."""
        key = self._rings[kind].signing
        payload = _PAYLOAD.pack(family_id.bytes, generation, expires, key.fingerprint)
        mac = key.mac(kind.encode() + payload)
        return kind + urlsafe_b64encode(payload + mac).decode()

    def decode(self, kind: str, text: str, now: datetime) -> Token | None:
        """The token that ``text`` is, or None if it was not made here or has expired.

        A token is dead from the very second of its expiry on.
        """
        if len(text) != _LENGTH or not text.startswith(kind):
            return None
        try:
            raw = binascii.a2b_base64(_standard(text[3:]), strict_mode=True)
        except ValueError:
            return None
        payload, mac = raw[: _PAYLOAD.size], raw[_PAYLOAD.size :]
        family_id, generation, expires, fingerprint = _PAYLOAD.unpack(payload)
        if not self._rings[kind].verify(fingerprint, kind.encode() + payload, mac):
            return None
        if expires <= now.timestamp():
            return None
        return Token(UUID(bytes=family_id), generation, expires)


def _standard(text: str) -> str:
    """URL-safe base64 in the standard alphabet; text in the standard one is made invalid.

    Four replacements take a tenth of the time of ``str.translate``.
    """
    return text.replace("+", " ").replace("/", " ").replace("-", "+").replace("_", "/")
