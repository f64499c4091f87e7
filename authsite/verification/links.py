"""What the mailed links contain: made for the mails, and read strictly.

The link that confirms an address is signed:
``{base}/v1/email/verify/{user_id}/{hash}?expires={unix}&signature={hex}``: the signature covers
purpose, path from ``/v1`` on and the query. It does not cover scheme and host, which a load
balancer may change. ``hash`` binds the link to the address that it was mailed to.

A mail that leads to authsite's own page has a short link instead, ``{base}/email/verify/{token}``.
The token has the same content; the page makes the signed URL of it.

The links that undo a change of address have a token. That of a cancel link is bound to the pending
change and ends with it: it has no separate expiry, since `pending.prolong` extends a change. The
new address gets one of another purpose, whose page does not show the present address. That
of a revert link names one completed change and is bound to nothing that a later change of the
account could raise or replace.
"""

import re
from dataclasses import dataclass
from datetime import datetime
from hashlib import sha256
from urllib.parse import parse_qsl, urlsplit
from uuid import UUID

from authsite.platform.context import Context
from authsite.platform.crypto.keys import KeyRing
from authsite.platform.crypto.sealed import SealedFormat
from authsite.platform.runtime import clock

from .errors import ExpiredSignature, InvalidSignature

PURPOSE = "verify e-mail"
LINK = "verify e-mail link"
CANCEL = "cancel address change"
DECLINE = "decline address change"
REVERT = "revert address change"
_LINK = SealedFormat("16s32s")
_REVERT = SealedFormat("16s")
_PATH = re.compile(r"/v1/email/verify/([0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12})/([0-9a-f]{64})")
_EXPIRES = re.compile(r"[0-9]{1,12}", re.ASCII)


@dataclass(frozen=True, slots=True)
class VerifiedLink:
    """The content of a valid link: the user, the hash of the address, the expiry (Unix seconds)."""

    user_id: UUID
    address_hash: str
    expires: int


def address_hash(address: str) -> str:
    """SHA-256 of an address, in hex."""
    return sha256(address.encode()).hexdigest()


def sign(ring: KeyRing, base_url: str, user_id: UUID, address: str, expires: datetime) -> str:
    """The signed URL that confirms ``address``, valid until ``expires`` (whole seconds)."""
    link = VerifiedLink(user_id, address_hash(address), int(expires.timestamp()))
    return signed_url(ring, base_url, link)


def signed_url(ring: KeyRing, base_url: str, link: VerifiedLink) -> str:
    """The signed URL with this content."""
    path = f"/v1/email/verify/{link.user_id}/{link.address_hash}"
    query = f"expires={link.expires}"
    return f"{base_url}{path}?{query}&signature={ring.sign(_message(path, query))}"


def short_token(ring: KeyRing, user_id: UUID, address: str, expires: datetime) -> str:
    """The token of the short link that confirms ``address``, until ``expires`` (whole seconds)."""
    return token_of(ring, VerifiedLink(user_id, address_hash(address), int(expires.timestamp())))


def token_of(ring: KeyRing, link: VerifiedLink) -> str:
    """The token of the short link with this content."""
    return _LINK.seal(
        ring, link.user_id.bytes, bytes.fromhex(link.address_hash), expires=link.expires
    )


def read_token(ctx: Context, token: str) -> VerifiedLink:
    """The link with this short token. Raises `InvalidSignature` and `ExpiredSignature`."""
    values = _LINK.unseal_expired(ctx.services.keys[LINK], token)
    if values is None:
        raise InvalidSignature
    user_id, hashed, expires = values
    if expires <= clock.now().timestamp():
        raise ExpiredSignature
    return VerifiedLink(UUID(bytes=user_id), hashed.hex(), expires)


def read(ctx: Context, path: str, query: str) -> VerifiedLink:
    """The link at ``path`` (from /v1 on) with this query string.

    Checks the signature before the expiry. Raises `InvalidSignature` for anything that is not
    exactly as `sign` made it, and `ExpiredSignature`.
    """
    ring, parts = ctx.services.keys[PURPOSE], _PATH.fullmatch(path)
    try:
        pairs = parse_qsl(query, keep_blank_values=True, strict_parsing=True, errors="strict")
    except ValueError:
        raise InvalidSignature from None
    values = dict(pairs)
    if parts is None or len(pairs) != 2 or values.keys() != {"expires", "signature"}:
        raise InvalidSignature
    expires, message = values["expires"], _message(path, f"expires={values['expires']}")
    if not _EXPIRES.fullmatch(expires) or not ring.is_signature(message, values["signature"]):
        raise InvalidSignature
    if int(expires) <= clock.now().timestamp():
        raise ExpiredSignature
    return VerifiedLink(UUID(parts[1]), parts[2], int(expires))


def read_url(ctx: Context, url: str) -> VerifiedLink:
    """`read` for a whole URL, which must begin with one of the application's base URLs."""
    base_urls = ctx.request_info.base_urls
    own = (base for base in base_urls if url.startswith(f"{base}/v1/email/verify/"))
    base_url = next(own, None)
    if base_url is None or not url.isascii():
        raise InvalidSignature
    parts = urlsplit(url.removeprefix(base_url))
    if parts.scheme or parts.netloc or parts.fragment or "#" in url:
        raise InvalidSignature
    return read(ctx, parts.path, parts.query)


def _message(path: str, query: str) -> bytes:
    return f"{PURPOSE}\n{path}\n{query}".encode()


def cancel_token(ring: KeyRing, user_id: UUID, epoch: int, pending_email: str) -> str:
    """The token that cancels the change of the user to ``pending_email``.

    ``epoch`` is the user's while the change is pending. ``ring``: that of the purpose `CANCEL` for
    the present address, of `DECLINE` for the new one.
    """
    return f"{user_id}.{ring.sign(_pending(user_id, epoch, pending_email))}"


def is_cancel_token(
    ring: KeyRing, token: str, user_id: UUID, epoch: int, pending_email: str
) -> bool:
    """Whether ``token`` cancels this change."""
    signature = token.partition(".")[2]
    return ring.is_signature(_pending(user_id, epoch, pending_email), signature)


def revert_token(ring: KeyRing, change_id: UUID, expires: datetime) -> str:
    """The token that takes the completed change back, until ``expires`` (whole seconds)."""
    return _REVERT.seal(ring, change_id.bytes, expires=int(expires.timestamp()))


def read_revert_token(ring: KeyRing, token: str) -> UUID | None:
    """The id of the change that ``token`` takes back; None if it is invalid or has expired."""
    values = _REVERT.unseal(ring, token, clock.now())
    return UUID(bytes=values[0]) if values else None


def _pending(user_id: UUID, epoch: int, pending_email: str) -> bytes:
    return f"{CANCEL}\n{user_id}\n{epoch}\n{pending_email}".encode()
