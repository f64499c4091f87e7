"""From the one list of secrets to one key per purpose.

A key that signs access tokens can do nothing else: each purpose has its own key, derived by
HKDF-SHA-256 (RFC 5869). The first secret signs; all verify, so that a secret can be replaced
without ending what the old one signed.
"""

import hmac
from collections.abc import Sequence
from dataclasses import dataclass, field
from hashlib import sha256

FINGERPRINT_SIZE = 6  # bytes
MAC_SIZE = 32  # bytes


def hkdf(secret: bytes, info: bytes, salt: bytes = b"\0" * 32) -> bytes:
    """32 bytes of key material from ``secret`` (RFC 5869, one block of output)."""
    extracted = hmac.digest(salt, secret, sha256)
    return hmac.digest(extracted, info + b"\x01", sha256)


@dataclass(frozen=True)
class Key:
    """One derived key and its public fingerprint."""

    secret: bytes = field(repr=False)
    fingerprint: bytes

    def mac(self, message: bytes) -> bytes:
        """HMAC-SHA-256 of ``message``, 32 bytes."""
        return hmac.digest(self.secret, message, "sha256")


class KeyRing:
    """The keys of one purpose: the first signs, all verify."""

    def __init__(self, secrets: Sequence[str], purpose: str) -> None:
        info = f"authsite {purpose}".encode()
        keys = [hkdf(secret.encode(), info) for secret in secrets]
        self._keys = [Key(key, sha256(b"fingerprint" + key).digest()[:6]) for key in keys]
        self._by_fingerprint = {key.fingerprint: key for key in self._keys}

    @property
    def signing(self) -> Key:
        """The key that signs."""
        return self._keys[0]

    def verify(self, fingerprint: bytes, message: bytes, mac: bytes) -> bool:
        """Whether ``mac`` is that of ``message`` under the key named; constant time."""
        key = self._by_fingerprint.get(fingerprint)
        # An unknown key costs as much as a known one with a wrong MAC.
        expected = (key or self._keys[0]).mac(message)
        return hmac.compare_digest(expected, mac) and key is not None

    def verify_any(self, message: bytes, mac: bytes) -> bool:
        """Whether ``mac`` is that of ``message`` under one of the keys; constant time."""
        matches = [hmac.compare_digest(key.mac(message), mac) for key in self._keys]
        return any(matches)
