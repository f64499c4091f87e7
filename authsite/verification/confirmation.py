"""Use a verification link: confirm the address, or delete an account registered with it."""

from typing import NamedTuple
from uuid import UUID

from authsite.platform.addresses import masked, shown
from authsite.platform.context import Context
from authsite.platform.mail.outbox import Recipient
from authsite.sign_in import gate
from authsite.sign_in.method import Pending, Target
from authsite.sign_in.methods.mail_code import service as mail_code
from authsite.sign_in.sessions import service as sessions
from authsite.sign_in.sessions.service import BegunSession, RenewedSession
from authsite.users import pending
from authsite.users import service as users
from authsite.users.account import account_of
from authsite.users.erasure import erase
from authsite.users.levels import EMAIL
from authsite.users.mails import send_welcome
from authsite.users.models import User

from . import email_change, links
from .errors import InvalidSignature
from .links import VerifiedLink, address_hash


class Opened(NamedTuple):
    """What a verification link is about, for its page.

    ``address``: the one that it confirms. ``disownable``: the user is unconfirmed, and may be
    deleted with the link. For a change of address: ``account`` is the present address, shown in
    part, and ``decline`` the token that cancels the change.
    """

    address: str
    confirmed: bool
    disownable: bool = False
    account: str | None = None
    decline: str | None = None


class Redeemed(NamedTuple):
    """The address that was confirmed; ``changed``: it replaced another one.

    ``renewed``: the new key of the browser session that a change of address did not end.
    ``confirmed``: the user, if the address was unconfirmed until now.
    """

    address: str
    changed: bool = False
    renewed: RenewedSession | None = None
    confirmed: User | None = None


def open_link(ctx: Context, link: VerifiedLink) -> Opened:
    """What the link is about; opening it changes nothing. Raises as `_find_user`."""
    user, new_address = _find_user(ctx, link)
    if new_address is None:
        confirmed = user.email_verified_at is not None
        return Opened(shown(user.email), confirmed, disownable=not confirmed)
    ring = ctx.services.keys[links.DECLINE]
    decline = links.cancel_token(ring, user.id, user.epoch, new_address)
    account = masked(user.email)
    return Opened(shown(new_address), confirmed=False, account=account, decline=decline)


def redeem(ctx: Context, link: VerifiedLink, *, session_id: UUID | None = None) -> Redeemed:
    """Mark the address that the link was made for as confirmed.

    The link of an address change makes it the user's address and ends all sign-ins but the
    browser session ``session_id``, if that is the user's; then its new key is returned. Raises
    `InvalidSignature` (see `_find_user`), and `IdentifierTaken` when another user has the address.
    """
    notify = email_change.may_notify(ctx, link.user_id)
    user, new_address = _find_user(ctx, link, lock=True)
    if new_address:
        renewed = email_change.complete_change(
            ctx, user, new_address, session_id=session_id, notify=notify
        )
        return Redeemed(new_address, changed=True, renewed=renewed)
    if user.email_verified_at is not None:
        return Redeemed(user.email)
    users.confirm(ctx, user)
    send_welcome(ctx, Recipient(user.id, user.email))
    return Redeemed(user.email, confirmed=user)


def sign_in(
    ctx: Context, user: User, target: Target, *, former_key: str | None
) -> BegunSession | Pending | None:
    """Begin a session for the ``user`` whose address was just confirmed with the mailed link.

    The caller knows that this browser has registered the account. None if the gate denies it.
    """
    try:
        verified = gate.admit(ctx, account_of(user), EMAIL, user.recognition_version)
    except gate.Denied:
        return None  # the page says that the address is confirmed
    done = gate.advance(ctx, verified, target)
    if isinstance(done, Pending):
        return mail_code.wait(ctx, done, written=True)
    return sessions.enter(ctx, done, former_key=former_key)


def disown(ctx: Context, link: VerifiedLink) -> None:
    """Erase the unconfirmed account that another person registered with the recipient's address.

    That person knows its password, so confirming the address would leave the account in that
    person's hands (account pre-hijacking). Raises `InvalidSignature` for any other account (see
    `_find_user`).
    """
    user, new_address = _find_user(ctx, link, lock=True)
    if new_address or user.email_verified_at is not None:
        raise InvalidSignature
    erase(ctx, user.id, user.epoch, why="disowned")


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
