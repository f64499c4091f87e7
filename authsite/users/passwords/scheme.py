"""How a password becomes what is stored, and what a stored hash says about itself.

``v1$<pepper>$2b$12$…``: bcrypt over base64(HMAC-SHA-384(pepper, NFC(password))). The MAC makes 64
bytes of any password, so nothing is lost to bcrypt's limit of 72, and no NUL can cut it short
(OWASP Password Storage Cheat Sheet, "Pre-Hashing Passwords with bcrypt").
"""

import base64
import hashlib
import hmac
import re
import unicodedata
from dataclasses import dataclass

TAG = "v1"
NO_PEPPER = "-"
MAX_PASSWORD_BYTES = 4096
MIN_COST, MAX_COST = 4, 16  # 4 is bcrypt's own least; over 16 one login would take seconds

# The last character of salt and digest carry two and four spare bits; every bcrypt writes zeros.
_STORED = re.compile(
    r"(?:v1\$(?P<pepper>-|[0-9a-f]{8}))?"
    r"(?P<salt>\$2[aby]\$(?P<cost>[0-9]{2})\$[./A-Za-z0-9]{21}[.Oeu])[./A-Za-z0-9]{31}"
)


class UnacceptablePassword(ValueError):
    """Empty, over 4096 bytes, or with control characters or lone surrogates: never a password."""


@dataclass(frozen=True, slots=True)
class Stored:
    """A stored hash taken apart. ``pepper`` is None for a plain bcrypt hash from elsewhere."""

    pepper: str | None
    cost: int
    salt: bytes
    hashed: bytes


def read(stored: str | None) -> Stored | None:
    """``stored`` taken apart; None for anything that is not a hash we could compute."""
    match = _STORED.fullmatch(stored) if stored else None
    if match is None or not MIN_COST <= int(match["cost"]) <= MAX_COST:
        return None
    hashed = match.string[match.start("salt") :]
    return Stored(match["pepper"], int(match["cost"]), match["salt"].encode(), hashed.encode())


def write(pepper: str, hashed: bytes) -> str:
    """The string to store for the bcrypt hash ``hashed`` under the pepper with that id."""
    return f"{TAG}${pepper}{hashed.decode('ascii')}"


def pepper_id(pepper: str) -> str:
    """Names a pepper in stored hashes without telling anything about it."""
    return hmac.digest(pepper.encode(), b"authsite pepper id", "sha256")[:4].hex()


def refuse_unacceptable(password: str) -> bytes:
    """``password`` in UTF-8. Raises ``UnacceptablePassword``."""
    # Characters first: there are never more of them than bytes, and so the encoding is bounded.
    if not password or len(password) > MAX_PASSWORD_BYTES:
        raise UnacceptablePassword
    if any(unicodedata.category(character) in ("Cc", "Cs") for character in password):
        raise UnacceptablePassword
    encoded = password.encode()
    if len(encoded) > MAX_PASSWORD_BYTES:
        raise UnacceptablePassword
    return encoded


def peppered(password: str, pepper: str) -> bytes:
    """The 64 bytes that bcrypt gets for our own hashes. Raises ``UnacceptablePassword``."""
    refuse_unacceptable(password)
    normalised = unicodedata.normalize("NFC", password).encode()
    return base64.b64encode(hmac.digest(pepper.encode(), normalised, hashlib.sha384))


def plain(password: str) -> bytes:
    """What the bcrypt libraries of others got: the bytes as typed, those beyond 72 ignored.

    Raises ``UnacceptablePassword``.
    """
    return refuse_unacceptable(password)[:72]
