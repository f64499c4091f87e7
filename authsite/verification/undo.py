"""Cancel a pending change of address, or take a completed one back, with a mailed link.

The links go to the address that the user has confirmed before the change: its owner must be able to
end what an intruder with the user's session and password began. The new address gets a link that
cancels, too: its owner may not have an account here.
"""

from typing import NamedTuple

from authsite.platform.addresses import masked, shown
from authsite.platform.audit.events import Event
from authsite.platform.audit.service import pseudonym, record
from authsite.platform.context import Context
from authsite.platform.mail.outbox import Recipient
from authsite.platform.runtime import clock
from authsite.platform.runtime.ids import as_id
from authsite.recovery import service as recovery
from authsite.sign_in.credentials import remember_caller
from authsite.sign_in.identifiers import normalized_key
from authsite.users import former, pending
from authsite.users import service as users
from authsite.users.identities.service import remove_untrusted
from authsite.users.models import FormerAddress, User

from . import links, mails
from .email_change import cancel_change, claim_address
from .errors import InvalidSignature


class Cancelable(NamedTuple):
    """A pending change: the user, and the present address as the recipient of the link sees it.

    ``declined``: the link was mailed to the new address.
    """

    user: User
    address: str
    declined: bool


def find_pending(ctx: Context, token: str, *, lock: bool = False) -> Cancelable:
    """The pending change that a cancel link ends; opening the link changes nothing.

    Raises `InvalidSignature` for a wrong token, and if the change has ended or has taken place.
    ``lock``: keep the row locked until the transaction ends.
    """
    user_id = as_id(token.partition(".")[0])
    user = ctx.db.get(User, user_id, with_for_update=lock) if user_id else None
    change = pending.find(ctx.db, user.id) if user else None
    if user is None or change is None:
        raise InvalidSignature
    for purpose, show in ((links.CANCEL, shown), (links.DECLINE, masked)):
        ring = ctx.services.keys[purpose]
        if links.is_cancel_token(ring, token, user.id, user.epoch, change.email):
            return Cancelable(user, show(user.email), declined=purpose == links.DECLINE)
    raise InvalidSignature


def cancel(ctx: Context, token: str) -> Cancelable:
    """End the pending change; its link becomes inactive. Raises `InvalidSignature`."""
    found = find_pending(ctx, token, lock=True)
    cancel_change(ctx, found.user.id)
    return found


def find_former(ctx: Context, token: str) -> FormerAddress:
    """The address that a revert link restores; opening the link changes nothing.

    Raises `InvalidSignature` for a wrong, used or expired token, and for a disabled user.
    """
    change_id = links.read_revert_token(ctx.services.keys[links.REVERT], token)
    found = former.find(ctx.db, change_id) if change_id else None
    if found is None:
        raise InvalidSignature
    return found


def revert(ctx: Context, token: str) -> str:
    """Take a completed change back; return the restored address.

    The address and the login name are the former ones again. All sign-ins, pending changes and
    reset links end; the password becomes unusable, since an intruder knows it, and a reset link
    goes to the restored address. The links of this and of later changes end: an intruder who
    changed the address twice must not restore the one in between. Links of earlier changes stay.
    With the changes end the links "This was not me" that were mailed since, because their addresses
    can no longer be restored, and those that were mailed to the restored address before.
    Identities at providers go, unless they are trusted and have the restored address.
    Raises `InvalidSignature`, and `AddressTaken` if another user has the address nevertheless.
    """
    found = find_former(ctx, token)
    user = ctx.db.get(User, found.user_id, with_for_update=True)
    if user is None or user.disabled_at is not None or not former.end_since(ctx.db, found):
        raise InvalidSignature
    removed, restored, key, now = user.email, found.email, found.key, clock.now()
    confirmed_at = found.confirmed_at or now
    claim_address(ctx, user.id, key)
    changed = users.end_sign_ins(
        ctx,
        user.id,
        end_reset_links=True,
        forget_recognized=True,
        email=restored,
        email_verified_at=confirmed_at,
        links_ended_at=now,
        password_hash=None,
        updated_at=now,
    )
    if changed:
        remove_untrusted(ctx, user.id, restored)
        remember_caller(ctx, user.id, changed.recognition_version)
    details = {"old": pseudonym(normalized_key("email", removed)), "new": pseudonym(key)}
    record(ctx, Event.EMAIL_CHANGE_REVERTED, user_id=user.id, details=details)
    recovery.mail_link(ctx, Recipient(user.id, restored))
    if removed != restored:
        mails.send_email_replaced(ctx, Recipient(user.id, removed))
    return restored
