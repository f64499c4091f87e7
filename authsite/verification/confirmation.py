"""Use a verification link: confirm the address, or delete an account registered with it."""

from typing import NamedTuple
from uuid import UUID

from authsite.platform.addresses import masked, shown
from authsite.platform.context import Context
from authsite.platform.mail.outbox import Recipient
from authsite.sign_in import gate
from authsite.sign_in.method import Pending as PendingSignIn
from authsite.sign_in.method import Target
from authsite.sign_in.methods.mail_code import service as mail_code
from authsite.sign_in.sessions import service as sessions
from authsite.sign_in.sessions.service import BegunSession, RenewedSession
from authsite.users import former
from authsite.users import service as users
from authsite.users.account import EMAIL, account_of
from authsite.users.former import Pending
from authsite.users.mails import MAIL_USER, send_welcome
from authsite.users.models import User
from authsite.users.service import erase

from . import email_change, links
from .errors import ChangeNotAuthenticated, InvalidSignature
from .links import VerifiedLink, address_hash


class Opened(NamedTuple):
    """What a verification link is about, for its page.

    ``address``: the one that it confirms. ``disownable``: the user is unconfirmed, and may be
    deleted with the link. For a change of address: ``account`` is the present address, in part if
    an administrator asked for the change, and ``decline`` the token that cancels it. ``completer``:
    the one who may see and complete it, the user who asked for it.
    """

    address: str
    confirmed: bool
    disownable: bool = False
    account: str | None = None
    decline: str | None = None
    completer: UUID | None = None


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
    user, change = _find_user(ctx, link)
    if change is None:
        confirmed = user.email_verified_at is not None
        return Opened(shown(user.email), confirmed, disownable=not confirmed)
    ring = ctx.services.keys[links.DECLINE]
    decline = links.cancel_token(ring, user.id, user.epoch, change.email)
    account = masked(user.email) if change.by_link else shown(user.email)
    return Opened(
        shown(change.email),
        confirmed=False,
        account=account,
        decline=decline,
        completer=None if change.by_link else user.id,
    )


def needs_user(ctx: Context, link: VerifiedLink) -> bool:
    """Whether the link completes a change that its user asked for; read outside any transaction.

    Only then the caller has to find out who is signed in; `redeem` decides.
    """
    user = MAIL_USER.one(ctx.database, user_id=link.user_id)
    if user is None or user.pending_email is None or user.pending_by_link:
        return False
    return address_hash(user.email) != link.address_hash == address_hash(user.pending_email)


def redeem(
    ctx: Context,
    link: VerifiedLink,
    *,
    user_id: UUID | None = None,
    session_id: UUID | None = None,
) -> Redeemed:
    """Mark the address that the link was made for as confirmed.

    The link of an address change makes it the user's address and ends all sign-ins but the
    browser session ``session_id``, if that is the user's; then its new key is returned. What the
    user asked for is completed by that user alone: ``user_id`` is the signed-in one. Raises
    `ChangeNotAuthenticated` for another one, `InvalidSignature` (see `_find_user`), and
    `IdentifierTaken` when another user has the address.
    """
    notify = email_change.may_notify(ctx, link.user_id)
    user, change = _find_user(ctx, link, lock=True)
    if change:
        if not change.by_link and user.id != user_id:
            raise ChangeNotAuthenticated
        renewed = email_change.complete_change(
            ctx, user, change.email, session_id=session_id, notify=notify
        )
        return Redeemed(change.email, changed=True, renewed=renewed)
    if user.email_verified_at is not None:
        return Redeemed(user.email)
    users.confirm(ctx, user)
    send_welcome(ctx, Recipient(user.id, user.email))
    return Redeemed(user.email, confirmed=user)


def sign_in(
    ctx: Context, user: User, target: Target, *, former_key: str | None
) -> BegunSession | PendingSignIn | None:
    """Begin a session for the ``user`` whose address was just confirmed with the mailed link.

    The caller knows that this browser has registered the account. None if the gate denies it.
    """
    try:
        verified = gate.admit(ctx, account_of(user), EMAIL, user.recognition_version)
    except gate.Denied:
        return None  # the page says that the address is confirmed
    done = gate.advance(ctx, verified, target)
    if isinstance(done, PendingSignIn):
        return mail_code.wait(ctx, done, written=True)
    return sessions.enter(ctx, done, former_key=former_key)


def disown(ctx: Context, link: VerifiedLink) -> None:
    """Erase the unconfirmed account that another person registered with the recipient's address.

    That person knows its password, so confirming the address would leave the account in that
    person's hands (account pre-hijacking). Raises `InvalidSignature` for any other account (see
    `_find_user`).
    """
    user, change = _find_user(ctx, link, lock=True)
    if change or user.email_verified_at is not None:
        raise InvalidSignature
    erase(ctx, user.id, user.epoch, why="disowned")


def _find_user(
    ctx: Context, link: VerifiedLink, *, lock: bool = False
) -> tuple[User, Pending | None]:
    """The user of the link, and the pending change if the link was mailed to the new address.

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
    change = former.find_pending(ctx.db, user.id)
    if change is None or link.address_hash != address_hash(change.email):
        raise InvalidSignature
    return user, change
