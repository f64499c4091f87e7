"""Seals values that must be read again: TOTP secrets, private signing keys.

A sealed value is the text ``<fingerprint of its key>.<base64url of nonce, ciphertext and tag>``:
AES-256-GCM (NIST SP 800-38D) with a random nonce of 96 bits. Each kind of value has a separate
key, which HKDF-SHA-256 derives from the sealing key. One key may seal 2^32 values of a kind
(section 8.3).

A feature stores the text in a column of the type `authsite.platform.db.sealed.SealedText`, so that
``authsite secret reseal`` finds it::

    binding = Binding("totp", factor.id, user=user.id)
    factor.secret = ctx.services.sealing.seal(secret, binding)
    secret = ctx.services.sealing.open(factor.secret, binding)  # raises Unusable

`Unusable` does not mean that there is no value: a second factor that cannot be opened is still
enrolled.
"""

import hmac
import json
import secrets
from base64 import urlsafe_b64decode, urlsafe_b64encode
from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple
from uuid import UUID

from .keys import Key, derived_key, hkdf, key_of

if TYPE_CHECKING:
    from cryptography.hazmat.primitives.ciphers.aead import AESGCM

NONCE_SIZE = 12  # bytes


class Unusable(Exception):
    """A sealed value that no key opens, or that was changed or belongs to something else."""


class Binding(NamedTuple):
    """The owner of a sealed value, as associated data: the value opens for no other one.

    ``row``: the primary key of the row. ``user``: of its column ``user_id``, if it has one.
    """

    kind: str
    row: UUID | int | str
    user: UUID | None = None

    def associated_data(self) -> bytes:
        """The three parts in an encoding that is unambiguous."""
        user = None if self.user is None else str(self.user)
        return json.dumps([self.kind, user, str(self.row)]).encode()


class SealingKeys:
    """The sealing keys: the first one seals, and each opens what it has sealed."""

    def __init__(self, keys: Sequence[Key]) -> None:
        self._keys = {fingerprint_of(each): each for each in keys}
        self._first = keys[0]

    @property
    def prefix(self) -> str:
        """The beginning of every value that the first key has sealed."""
        return prefix_of(self._first)

    def seal(self, value: bytes, binding: Binding) -> str:
        """``value`` sealed under the first key; it opens only with an equal ``binding``."""
        nonce = secrets.token_bytes(NONCE_SIZE)
        sealed = _cipher(self._first, binding).encrypt(nonce, value, binding.associated_data())
        return self.prefix + urlsafe_b64encode(nonce + sealed).decode()

    def open(self, text: str, binding: Binding) -> bytes:
        """The value that `seal` has sealed. Raises `Unusable`; its message has no part of it."""
        from cryptography.exceptions import InvalidTag

        fingerprint, _, encoded = text.partition(".")
        key = self._keys.get(fingerprint)
        if key is None:
            raise Unusable(f"no sealing key has the fingerprint of this {binding.kind} value")
        try:
            raw = urlsafe_b64decode(encoded.encode())
            nonce, sealed = raw[:NONCE_SIZE], raw[NONCE_SIZE:]
            return _cipher(key, binding).decrypt(nonce, sealed, binding.associated_data())
        except (ValueError, InvalidTag):
            raise Unusable(
                f"this {binding.kind} value was changed, or belongs to another row or user"
            ) from None

    def macs(self, purpose: str, message: bytes) -> tuple[str, ...]:
        """HMAC-SHA-256 of ``message`` under each key: store the first, compare with all.

        For values that are only recognized again, such as recovery codes. A stored MAC cannot be
        made again under another key, so `authsite secret reseal` does not change it.
        """
        return tuple(
            prefix_of(key) + hmac.digest(_derived(key, f"mac {purpose}"), message, "sha256").hex()
            for key in self._keys.values()
        )


def sealing_keys(
    keys: Sequence[str], derive_from: Sequence[str], announced: Sequence[str] = ()
) -> SealingKeys:
    """The keys of the settings ``sealing-key``, ``secret`` and ``sealing-key-next``, as text.

    Each secret derives a key. It opens what it sealed before there was a sealing key, and the first
    one seals as long as there is none.
    """
    own, next_ = ([sealing_key(each) for each in texts] for texts in (keys, announced))
    return SealingKeys([*own, *map(derived_sealing_key, derive_from), *next_])


def sealing_key(text: str) -> Key:
    """The sealing key with these 64 hexadecimal digits."""
    return key_of(bytes.fromhex(text))


def derived_sealing_key(secret: str) -> Key:
    """The sealing key that one ``secret`` derives."""
    return derived_key(secret, "sealing-key")


def fingerprint_of(key: Key) -> str:
    """The public fingerprint of a key, with which its sealed values begin."""
    return key.fingerprint.hex()


def prefix_of(key: Key) -> str:
    """The beginning of every value that ``key`` has sealed."""
    return f"{fingerprint_of(key)}."


def _derived(key: Key, purpose: str) -> bytes:
    return hkdf(key.secret, f"authsite {purpose}".encode())


def _cipher(key: Key, binding: Binding) -> "AESGCM":
    # Imported when it is first needed: it takes about 20 ms.
    from cryptography.hazmat.primitives.ciphers.aead import AESGCM

    return AESGCM(_derived(key, f"sealed {binding.kind}"))
