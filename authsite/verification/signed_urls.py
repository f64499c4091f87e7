"""Signed verification URLs: what is signed, and how strictly a link is read.

``{base}/v1/email/verify/{user_id}/{hash}?expires={unix}&signature={hex}``: the signature covers
purpose, path from ``/v1`` on and the query, but neither scheme nor host, so that no load balancer
can break a link. ``hash`` ties the link to the address it was asked for.
"""

import re
from dataclasses import dataclass
from datetime import datetime
from hashlib import sha256
from urllib.parse import parse_qsl, urlsplit
from uuid import UUID

from authsite.keys import KeyRing

from .errors import ExpiredSignature, InvalidSignature

PURPOSE = "verify e-mail"
_PATH = re.compile(r"/v1/email/verify/([0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12})/([0-9a-f]{64})")
_EXPIRES = re.compile(r"[0-9]{1,12}", re.ASCII)
_SIGNATURE = re.compile(r"[0-9a-f]{64}", re.ASCII)


@dataclass(frozen=True, slots=True)
class VerifiedLink:
    """Whom a link with a good signature is for, and the hash of the address it proves."""

    user_id: UUID
    address_hash: str


def address_hash(address: str) -> str:
    """SHA-256 of an address, in hex."""
    return sha256(address.encode()).hexdigest()


def sign(ring: KeyRing, base_url: str, user_id: UUID, address: str, expires: datetime) -> str:
    """The signed URL that proves ``address`` until ``expires`` (whole seconds)."""
    path = f"/v1/email/verify/{user_id}/{address_hash(address)}"
    query = f"expires={int(expires.timestamp())}"
    signature = ring.signing.mac(_message(path, query)).hex()
    return f"{base_url}{path}?{query}&signature={signature}"


def read(ring: KeyRing, path: str, query: str, now: datetime) -> VerifiedLink:
    """The link at ``path`` (from /v1 on) with this query string.

    The signature is looked at first, then the expiry. Raises `InvalidSignature` for anything
    that was not signed here in exactly this form, and `ExpiredSignature`.
    """
    place = _PATH.fullmatch(path)
    try:
        pairs = parse_qsl(query, keep_blank_values=True, strict_parsing=True, errors="strict")
    except ValueError:
        raise InvalidSignature from None
    values = dict(pairs)
    if place is None or len(pairs) != 2 or values.keys() != {"expires", "signature"}:
        raise InvalidSignature
    expires, signature = values["expires"], values["signature"]
    if not (_EXPIRES.fullmatch(expires) and _SIGNATURE.fullmatch(signature)):
        raise InvalidSignature
    if not ring.verify_any(_message(path, f"expires={expires}"), bytes.fromhex(signature)):
        raise InvalidSignature
    if int(expires) <= now.timestamp():
        raise ExpiredSignature
    return VerifiedLink(UUID(place[1]), place[2])


def read_own(ring: KeyRing, url: str, base_url: str, now: datetime) -> VerifiedLink:
    """`read` for a whole URL, which must be one of ours to the letter (the redirect page)."""
    if not url.startswith(f"{base_url}/v1/email/verify/") or not url.isascii():
        raise InvalidSignature
    parts = urlsplit(url.removeprefix(base_url))
    if parts.scheme or parts.netloc or parts.fragment or "#" in url:
        raise InvalidSignature
    return read(ring, parts.path, parts.query, now)


def _message(path: str, query: str) -> bytes:
    return f"{PURPOSE}\n{path}\n{query}".encode()
