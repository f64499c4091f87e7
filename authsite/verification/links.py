"""Verification links: sign and read one; confirm the address, or delete an account with it.

``{base}/v1/email/verify/{user_id}/{hash}?expires={unix}&signature={hex}``: the signature covers
purpose, path from ``/v1`` on and the query. It does not cover scheme and host, which a load
balancer may change. ``hash`` binds the link to the address that it was mailed to.
"""

import re
from dataclasses import dataclass
from datetime import datetime
from hashlib import sha256
from urllib.parse import parse_qsl, urlsplit
from uuid import UUID

from authsite import clock
from authsite.context import Context
from authsite.crypto.keys import KeyRing
from authsite.mail import outbox
from authsite.mail.outbox import Recipient
from authsite.sessions.service import RenewedSession
from authsite.users import pending
from authsite.users import service as users
from authsite.users.models import User

from . import email_change
from .errors import ExpiredSignature, InvalidSignature

PURPOSE = "verify e-mail"
_PATH = re.compile(r"/v1/email/verify/([0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12})/([0-9a-f]{64})")
_EXPIRES = re.compile(r"[0-9]{1,12}", re.ASCII)


@dataclass(frozen=True, slots=True)
class VerifiedLink:
    """The content of a link with a valid signature: the user, and the hash of the address."""

    user_id: UUID
    address_hash: str


def address_hash(address: str) -> str:
    """SHA-256 of an address, in hex."""
    return sha256(address.encode()).hexdigest()


def sign(ring: KeyRing, base_url: str, user_id: UUID, address: str, expires: datetime) -> str:
    """The signed URL that confirms ``address``, valid until ``expires`` (whole seconds)."""
    path = f"/v1/email/verify/{user_id}/{address_hash(address)}"
    query = f"expires={int(expires.timestamp())}"
    return f"{base_url}{path}?{query}&signature={ring.sign(_message(path, query))}"


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
    return VerifiedLink(UUID(parts[1]), parts[2])


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


def redeem(
    ctx: Context, link: VerifiedLink, *, session_id: UUID | None = None
) -> RenewedSession | None:
    """Mark the address that the link was made for as confirmed.

    The link of an address change makes it the user's address and ends all sign-ins but the
    browser session ``session_id``, if that is the user's; then its new key is returned. Raises
    `InvalidSignature` (see `_find_user`), and `IdentifierTaken` when another user has the address.
    """
    notify = email_change.may_notify(ctx, link.user_id)
    user, new_address = _find_user(ctx, link, lock=True)
    if new_address:
        return email_change.complete_change(
            ctx, user, new_address, session_id=session_id, notify=notify
        )
    if user.email_verified_at is None:
        users.confirm(ctx, user)
        outbox.put(ctx, "welcome", Recipient(user.id, user.email))
    return None


def is_disownable(ctx: Context, link: VerifiedLink) -> bool:
    """Whether the link can delete the account: the user is unconfirmed and has the link's address.

    Raises `InvalidSignature` (see `_find_user`).
    """
    user, new_address = _find_user(ctx, link)
    return new_address is None and user.email_verified_at is None


def disown(ctx: Context, link: VerifiedLink) -> None:
    """Erase the unconfirmed account that another person registered with the recipient's address.

    That person knows its password, so confirming the address would leave the account in that
    person's hands (account pre-hijacking). Raises `InvalidSignature` for any other account (see
    `_find_user`).
    """
    user, new_address = _find_user(ctx, link, lock=True)
    if new_address or user.email_verified_at is not None:
        raise InvalidSignature
    users.erase(ctx, user.id, user.epoch, why="disowned")


def _find_user(ctx: Context, link: VerifiedLink, *, lock: bool = False) -> tuple[User, str | None]:
    """The user of the link, and the pending address if the link was mailed to that one.

    Raises `InvalidSignature` when the user is gone or has another address by now, or when the
    change of address has ended. ``lock``: keep the row locked until the transaction ends.
    """
    user = ctx.db.get(User, link.user_id, with_for_update=lock)
    if user is None or user.disabled_at is not None:
        raise InvalidSignature
    # The present address first: a change to the very same address must not turn the link that was
    # mailed at registration into one of a change, which cannot disown the account.
    if link.address_hash == address_hash(user.email):
        return user, None
    change = pending.find(ctx.db, user.id)
    if change is None or link.address_hash != address_hash(change.email):
        raise InvalidSignature
    return user, change.email


def _message(path: str, query: str) -> bytes:
    return f"{PURPOSE}\n{path}\n{query}".encode()
