"""Cancel a pending change of address, or take a completed one back, with a mailed link.

The links go to the address that the user has confirmed before the change: its owner must be able to
end what an intruder with the user's session and password began.

The token of a cancel link is bound to the pending change and ends with it: it has no expiry of its
own, since `pending.prolong` extends a change. The token of a revert link names one completed change
and is bound to nothing that a later change of the account could raise or replace.
"""

from datetime import datetime
from uuid import UUID

from authsite import clock
from authsite.audit.service import pseudonym, record
from authsite.context import Context
from authsite.crypto.keys import KeyRing
from authsite.crypto.sealed import SealedFormat
from authsite.ids import as_id
from authsite.login.identifiers import normalized_key
from authsite.mail import outbox
from authsite.mail.outbox import Recipient
from authsite.recovery import service as recovery
from authsite.users import former, pending
from authsite.users import service as users
from authsite.users.models import FormerAddress, User

from .email_change import cancel_change, claim_address
from .errors import InvalidSignature

CANCEL = "cancel address change"
REVERT = "revert address change"
_REVERT = SealedFormat("16s")


def cancel_token(ring: KeyRing, user_id: UUID, epoch: int, pending_email: str) -> str:
    """The token that cancels the change of the user to ``pending_email``.

    ``epoch`` is the user's while the change is pending.
    """
    return f"{user_id}.{ring.sign(_pending(user_id, epoch, pending_email))}"


def revert_token(ring: KeyRing, change_id: UUID, expires: datetime) -> str:
    """The token that takes the completed change back, until ``expires`` (whole seconds)."""
    return _REVERT.seal(ring, change_id.bytes, expires=int(expires.timestamp()))


def _pending(user_id: UUID, epoch: int, pending_email: str) -> bytes:
    return f"{CANCEL}\n{user_id}\n{epoch}\n{pending_email}".encode()


def find_pending(ctx: Context, token: str, *, lock: bool = False) -> User:
    """The user whose pending change a cancel link ends; opening the link changes nothing.

    Raises `InvalidSignature` for a wrong token, and if the change has ended or has taken place.
    ``lock``: keep the row locked until the transaction ends.
    """
    named_user, _, signature = token.partition(".")
    user_id = as_id(named_user)
    user = ctx.db.get(User, user_id, with_for_update=lock) if user_id else None
    change = pending.find(ctx.db, user.id) if user else None
    ring = ctx.services.keys[CANCEL]
    if (
        user is None
        or change is None
        or not ring.is_signature(_pending(user.id, user.epoch, change.email), signature)
    ):
        raise InvalidSignature
    return user


def cancel(ctx: Context, token: str) -> User:
    """End the pending change; its link becomes inactive. Raises `InvalidSignature`."""
    user = find_pending(ctx, token, lock=True)
    cancel_change(ctx, user.id)
    return user


def find_former(ctx: Context, token: str) -> FormerAddress:
    """The address that a revert link restores; opening the link changes nothing.

    Raises `InvalidSignature` for a wrong, used or expired token, and for a disabled user.
    """
    values = _REVERT.unseal(ctx.services.keys[REVERT], token, clock.now())
    found = former.find(ctx.db, UUID(bytes=values[0])) if values else None
    if found is None:
        raise InvalidSignature
    return found


def revert(ctx: Context, token: str) -> str:
    """Take a completed change back; return the restored address.

    The address and the login name are the former ones again. All sign-ins, pending changes and
    reset links end; the password becomes unusable, since an intruder knows it, and a reset link
    goes to the restored address. The links of this and of later changes end: an intruder who
    changed the address twice must not restore the one in between. Links of earlier changes stay.
    Raises `InvalidSignature`, and `AddressTaken` if another user has the address nevertheless.
    """
    found = find_former(ctx, token)
    user = ctx.db.get(User, found.user_id, with_for_update=True)
    if user is None or user.disabled_at is not None or not former.end_since(ctx.db, found):
        raise InvalidSignature
    removed, restored, key, now = user.email, found.email, found.key, clock.now()
    claim_address(ctx, user.id, key)
    users.end_sign_ins(
        ctx,
        user.id,
        end_reset_links=True,
        email=restored,
        email_verified_at=now,
        password_hash=None,
        updated_at=now,
    )
    details = {"old": pseudonym(normalized_key("email", removed)), "new": pseudonym(key)}
    record(ctx, "email.change_reverted", user_id=user.id, details=details)
    recovery.mail_link(ctx, Recipient(user.id, restored))
    if removed != restored:
        outbox.put(ctx, "email_replaced", Recipient(user.id, removed))
    return restored
