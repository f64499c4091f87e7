"""Derives one key ring per purpose from the secrets in the settings.

Each purpose has its own keys, derived by HKDF-SHA-256 (RFC 5869), so that a value for one purpose
is invalid for all others. The first secret signs and all verify: after a secret is replaced, values
signed with the old one stay valid. ``authsite/cli/rotation.py`` replaces secrets.
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


def derived_key(secret: str, purpose: str) -> Key:
    """The key of ``purpose`` from one secret."""
    return key_of(hkdf(secret.encode(), f"authsite {purpose}".encode()))


def key_of(secret: bytes) -> Key:
    """The key that consists of the 32 bytes ``secret``."""
    return Key(secret, sha256(b"fingerprint" + secret).digest()[:FINGERPRINT_SIZE])


class KeyRing:
    """The keys of one purpose: the first signs, all verify."""

    def __init__(self, secrets: Sequence[str], purpose: str) -> None:
        self._keys = [derived_key(secret, purpose) for secret in secrets]
        self._by_fingerprint = {key.fingerprint: key for key in self._keys}

    @property
    def signing(self) -> Key:
        """The key that signs."""
        return self._keys[0]

    def verify(self, fingerprint: bytes, message: bytes, mac: bytes) -> bool:
        """Whether ``mac`` is that of ``message`` by the key of ``fingerprint``; constant time."""
        key = self._by_fingerprint.get(fingerprint)
        # The same work for an unknown key as for a wrong MAC.
        expected = (key or self._keys[0]).mac(message)
        return hmac.compare_digest(expected, mac) and key is not None

    def macs(self, message: bytes) -> list[bytes]:
        """The MAC of ``message`` by each of the keys, that of the signing one first."""
        return [key.mac(message) for key in self._keys]

    def is_mac(self, message: bytes, mac: bytes) -> bool:
        """Whether ``mac`` is the MAC of ``message`` by one of the keys; constant time."""
        matches = [hmac.compare_digest(each, mac) for each in self.macs(message)]
        return any(matches)

    def sign(self, message: bytes) -> str:
        """A detached signature of ``message``: its MAC in hexadecimal."""
        return self.signing.mac(message).hex()

    def is_signature(self, message: bytes, text: str) -> bool:
        """Whether ``text`` is the signature of ``message`` by one of the keys; constant time."""
        signature = text.encode(errors="replace")
        expected = [key.mac(message).hex().encode() for key in self._keys]
        matches = [hmac.compare_digest(each, signature) for each in expected]
        return any(matches)


class Keys(dict[str, KeyRing]):
    """Key rings by purpose, such as ``keys["csrf"]``; each is derived when it is first used."""

    def __init__(self, secrets: Sequence[str]) -> None:
        super().__init__()
        self._secrets = secrets

    def __missing__(self, purpose: str) -> KeyRing:
        ring = self[purpose] = KeyRing(self._secrets, purpose)
        return ring
