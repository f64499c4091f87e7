"""The format of stored password hashes.

``v1$<pepper>$2b$12$…``: bcrypt over base64(HMAC-SHA-384(pepper, NFC(password))). The MAC turns
any password into 64 bytes without NUL, so neither bcrypt's limit of 72 bytes nor a NUL truncates it
(OWASP Password Storage Cheat Sheet, "Pre-Hashing Passwords with bcrypt").

Two forms of other systems are verified as well: plain bcrypt, and ``bcrypt_sha256$$2b$12$…`` of
Django, which is bcrypt over the hexadecimal SHA-256 of the password. `foreign` has those
other than bcrypt.
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
MIN_COST, MAX_COST = 4, 16  # 4 is bcrypt's minimum; over 16 one login would take seconds

# The categories Cc and Cs of Unicode, which no version of Unicode changes.
CONTROL = re.compile("[\x00-\x1f\x7f-\x9f\ud800-\udfff]")

# The last characters of salt and digest have unused bits, which every bcrypt sets to zero.
_STORED = re.compile(
    r"(?:v1\$(?P<pepper>-|[0-9a-f]{8})|(?P<prehash>bcrypt_sha256\$))?"
    r"(?P<salt>\$2[aby]\$(?P<cost>[0-9]{2})\$[./A-Za-z0-9]{21}[.Oeu])[./A-Za-z0-9]{31}"
)


class UnacceptablePassword(ValueError):
    """The password is empty, over 4096 bytes, or has control characters or lone surrogates."""


@dataclass(frozen=True, slots=True)
class StoredHash:
    """A parsed hash. ``pepper`` is the id of its pepper; None for a hash of another system.

    ``prehashed``: the password is hashed with SHA-256 first, as Django does.
    """

    pepper: str | None
    cost: int
    salt: bytes
    hashed: bytes
    prehashed: bool = False


def parse(stored: str | None) -> StoredHash | None:
    """Parse ``stored``; None for anything that is not a hash of a supported format and cost."""
    match = _STORED.fullmatch(stored) if stored else None
    if match is None or not MIN_COST <= int(match["cost"]) <= MAX_COST:
        return None
    hashed = match.string[match.start("salt") :]
    return StoredHash(
        match["pepper"],
        int(match["cost"]),
        match["salt"].encode(),
        hashed.encode(),
        prehashed=match["prehash"] is not None,
    )


def serialize(pepper: str, hashed: bytes) -> str:
    """The string to store for the bcrypt hash ``hashed``; ``pepper`` is the id of the pepper."""
    return f"{TAG}${pepper}{hashed.decode('ascii')}"


def pepper_id(pepper: str) -> str:
    """An id of ``pepper`` for stored hashes; it does not reveal the pepper."""
    return hmac.digest(pepper.encode(), b"authsite pepper id", "sha256")[:4].hex()


def hash_prefix(pepper: str) -> str:
    """How every stored hash with ``pepper`` begins."""
    return f"{TAG}${pepper_id(pepper)}$"


def encode(password: str) -> bytes:
    """``password`` in UTF-8. Raises `UnacceptablePassword`."""
    # Characters first: a string has at least as many bytes, so this bounds the work of encoding.
    if not password or len(password) > MAX_PASSWORD_BYTES:
        raise UnacceptablePassword
    if CONTROL.search(password):
        raise UnacceptablePassword
    encoded = password.encode()
    if len(encoded) > MAX_PASSWORD_BYTES:
        raise UnacceptablePassword
    return encoded


def peppered(password: str, pepper: str) -> bytes:
    """The 64 bytes that are hashed with bcrypt. Raises `UnacceptablePassword`."""
    encode(password)
    normalized = unicodedata.normalize("NFC", password).encode()
    return base64.b64encode(hmac.digest(pepper.encode(), normalized, hashlib.sha384))


def plain(password: str) -> bytes:
    """The input of plain bcrypt, for imported hashes: the first 72 bytes of the password.

    Raises `UnacceptablePassword`.
    """
    return encode(password)[:72]


def prehashed(password: str) -> bytes:
    """The input of bcrypt in Django's ``bcrypt_sha256``. Raises `UnacceptablePassword`."""
    return hashlib.sha256(encode(password)).hexdigest().encode()
