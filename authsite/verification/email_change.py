"""Change a user's e-mail address: request, complete with the mailed link, cancel."""

from collections.abc import Mapping, Sequence
from datetime import datetime
from functools import partial
from typing import NamedTuple
from uuid import UUID, uuid4

from sqlalchemy import ColumnElement, update
from sqlalchemy.exc import IntegrityError

from authsite.platform.addresses import masked, shown
from authsite.platform.audit.events import Event
from authsite.platform.audit.models import Detail
from authsite.platform.audit.service import Cause, details_of, pseudonym, record
from authsite.platform.context import Context
from authsite.platform.http.bodies import errors_of
from authsite.platform.http.errors import FieldError
from authsite.platform.mail.outbox import Recipient
from authsite.platform.rate_limit import limit_subject
from authsite.platform.runtime import clock
from authsite.platform.runtime.ids import as_id
from authsite.recovery import service as recovery
from authsite.sign_in.credentials import find_credential, remember_caller
from authsite.sign_in.fields import address_errors, read_address
from authsite.sign_in.identifiers import Identifier, normalized_key
from authsite.sign_in.notices import may_mail_own_address
from authsite.sign_in.reauthentication import ProofFields, missing_fields, require_proof
from authsite.sign_in.sessions import service as sessions
from authsite.sign_in.sessions.service import RenewedSession
from authsite.users import former
from authsite.users import service as users
from authsite.users.account import Account, SignedInUser
from authsite.users.errors import AddressTaken
from authsite.users.identities import remove_untrusted
from authsite.users.mails import MAIL_USER
from authsite.users.models import FormerAddress, LoginName, User

from . import links, mails
from .errors import InvalidSignature
from .service import choose_page, mail_link, may_mail, notify_owner


class _Counted(NamedTuple):
    """What is known before the request writes, and which mails the limits allow."""

    owner: Account | None = None
    may_mail_new: bool = False
    may_mail_present: bool = False
    taken: bool = False


def request_change(
    ctx: Context,
    user: SignedInUser,
    given: ProofFields,
    email: str,
    page_url: str | None = None,
) -> None:
    """Ask for a proof, then begin a change of address.

    A link goes to the new address, and a notice to the present one. Over the limit of an address
    the mail to it is not sent; the response does not reveal that. The link of an earlier request
    becomes inactive. With `prevent-enumeration` the response for an address of another user is the
    same as for a free address; the other user gets a notice instead of the link.

    Raises the errors of `choose_page` and `require_proof` (`ValidationFailed` if ``email`` is not
    an e-mail address, or of a domain that may not register), `AddressTaken`, `TooManyAttempts` over
    the user's limit ``verification`` (``login-names`` for a taken address), and `SignInEnded` if
    the user's epoch was raised in the meantime.
    """
    account = user.account

    def look_up_and_count() -> _Counted:
        found = find_credential(ctx, email, ["email"])
        owner = found.account if found and found.account.id != account.id else None
        reserved = former.is_reserved_apart(ctx.database, read_address(email).key, account.id)
        if (owner or reserved) and not ctx.settings.prevent_enumeration:
            # A separate limit: no mail goes out, but the error reveals that the address is taken.
            ctx.limits.count("login-names", limit_subject(account.id))
            return _Counted(taken=True)
        ctx.limits.count("verification", limit_subject(account.id))
        return _Counted(owner, may_mail(ctx, email), may_mail_own_address(ctx, account))

    check_others = partial(_field_errors, ctx, email, page_url)
    counted: _Counted = require_proof(
        ctx, user, given, check_others, before_writing=look_up_and_count
    )
    page_url = choose_page(ctx, page_url)
    if counted.taken:
        raise AddressTaken
    address = read_address(email)
    present = _begin(ctx, account, address, by_link=False)
    if counted.owner and counted.may_mail_new:
        notify_owner(ctx, counted.owner)
    else:
        recipient = Recipient(account.id, address.display)
        suppress, change = not counted.may_mail_new, recipient.address != present
        mail_link(ctx, recipient, page_url, suppress=suppress, change=change)
    if counted.may_mail_present:
        mails.send_email_changed(ctx, Recipient(account.id, present))


def change_errors(
    ctx: Context, user: SignedInUser, given: ProofFields, email: str | None, page_url: str | None
) -> Sequence[FieldError]:
    """What `request_change` finds wrong with the fields that are there, for a refused request."""
    return [*missing_fields(ctx, user, given), *_field_errors(ctx, email, page_url)]


def _field_errors(ctx: Context, email: str | None, page_url: str | None) -> Sequence[FieldError]:
    of_address = address_errors(ctx.settings, email) if email else ()
    return [*of_address, *errors_of(lambda: choose_page(ctx, page_url))]


def complete_change(
    ctx: Context, user: User, address: str, *, session_id: UUID | None, notify: bool
) -> RenewedSession | None:
    """Make the pending ``address`` the user's e-mail address and login name.

    The caller has checked who completes it. Factors and passkeys stay. All sign-ins and reset
    links end (OWASP Authentication cheat sheet, "Change a registered email address"), except the
    browser session ``session_id``, whose new key is returned. With ``notify`` (the result of
    `may_notify`) the former address gets a mail. If the user had confirmed the former address long
    enough before (`former.may_restore`), a link in the mail takes the change back. There is no such
    link if the link of an earlier change could restore ``address`` (`former.end_returned`). Raises
    `AddressTaken`, and `InvalidSignature` if the pending change has ended in the meantime.
    """
    old, new, cfg = user.email, read_address(address), ctx.settings
    old_values = {"confirmed_at": user.email_verified_at, "links_ended_at": user.links_ended_at}
    may_restore = former.may_restore(user, cfg.email_revert_min_age)
    returned = former.end_returned(ctx.db, user.id, new.key)
    # Only a reader of the mailbox of an address ends the links "This was not me" in it. And an
    # address that the user takes again has been confirmed before, as after a change taken back.
    links_ended_at = returned.links_ended_at if returned else clock.now()
    confirmed_at = returned.confirmed_at if returned else None
    changed = _replace(
        ctx,
        user,
        new,
        former.EXISTS,
        User.pending_email == address,
        links_ended_at=links_ended_at,
        confirmed_at=confirmed_at,
    )
    if changed is None:
        raise InvalidSignature
    former_address = None
    if may_restore and not returned:
        former_address = _add_former(ctx, user.id, old, changed.epoch, **old_values)
    if notify:
        mails.send_email_replaced(ctx, Recipient(user.id, old), former_address)
    return sessions.renew(ctx, user.id, session_id, changed.epoch) if session_id else None


def _add_former(
    ctx: Context,
    user_id: UUID,
    old: str,
    epoch: int,
    *,
    confirmed_at: datetime | None,
    links_ended_at: datetime | None,
) -> FormerAddress | None:
    """Keep the former address, which can take the change back; None if the settings say no."""
    if not ctx.settings.email_revert_expires_in:
        return None
    row = FormerAddress(
        id=uuid4(),
        user_id=user_id,
        key=normalized_key("email", old),
        email=old,
        epoch=epoch,
        expires_at=clock.now() + ctx.settings.email_revert_expires_in,
        confirmed_at=confirmed_at,
        links_ended_at=links_ended_at,
    )
    ctx.db.add(row)
    return row


def propose_address(ctx: Context, user: User, email: str, cause: Cause | None = None) -> None:
    """Begin a change of address as an administrator, who may have mistyped the address.

    A link goes to the new address, and completes the change without a sign-in: the user may have
    lost the present mailbox. The present address stays in effect until the link is used, so
    that another person who receives the mail cannot reset the password or delete the account before
    that. The present address gets a notice if it is confirmed. Raises `ValidationFailed` if
    ``email`` is not an e-mail address, `AddressTaken`, and `SignInEnded` for a disabled user.
    """
    new = require_free(ctx, user, email)
    present = _begin(ctx, user, new, cause, by_link=True)
    is_change = new.display != present
    recipient = Recipient(user.id, new.display)
    mail_link(ctx, recipient, choose_page(ctx), change=is_change, cause=cause)
    if user.email_verified_at is not None:
        mails.send_email_changed(ctx, Recipient(user.id, present))


def require_free(ctx: Context, user: User, email: str) -> Identifier:
    """The address in ``email``, which an administrator chooses for the user.

    Raises `ValidationFailed` if it is not an e-mail address, and `AddressTaken`.
    """
    new = read_address(email)
    found = find_credential(ctx, email, ["email"])
    taken = found is not None and found.account.id != user.id
    if taken or former.is_reserved_apart(ctx.database, new.key, user.id):
        raise AddressTaken
    return new


def set_address(
    ctx: Context,
    user: User,
    email: str,
    cause: Cause | None = None,
    *,
    may_be_undone: bool = False,
) -> None:
    """Set the e-mail address as an administrator, who knows that it belongs to the user.

    All sign-ins, reset links and a pending change end, and the links "This was not me". The former
    address gets a notice if the user had confirmed it. The links that take earlier changes back end
    as well, because an intruder may have one. With ``may_be_undone`` the links are those of
    `complete_change`: the notice has one, and the earlier ones stay, since an administrator who
    changed the address twice would otherwise leave the user none.
    Raises `ValidationFailed` if ``email`` is not an e-mail address, and `AddressTaken`.
    """
    old, old_confirmed = user.email, user.email_verified_at is not None
    old_values = {"confirmed_at": user.email_verified_at, "links_ended_at": user.links_ended_at}
    user.pending_asked_at = None  # of another change: this one is asked for now
    may_restore = may_be_undone and former.may_restore(user, ctx.settings.email_revert_min_age)
    new = read_address(email)
    changed = _replace(ctx, user, new, links_ended_at=clock.now(), cause=cause)
    if not may_be_undone:
        former.end_all(ctx.db, user.id)
    elif former.end_returned(ctx.db, user.id, new.key):
        may_restore = False
    if changed and old_confirmed:
        row = _add_former(ctx, user.id, old, changed.epoch, **old_values) if may_restore else None
        mails.send_email_replaced(ctx, Recipient(user.id, old), row)


def _replace(
    ctx: Context,
    user: User,
    new: Identifier,
    *conditions: ColumnElement[bool],
    links_ended_at: datetime | None,
    confirmed_at: datetime | None = None,
    cause: Cause | None = None,
) -> users.ChangedUser | None:
    """Make ``new`` the user's confirmed address; end all sign-ins and reset links.

    ``links_ended_at``: that of ``new``; ``confirmed_at``: since when it is confirmed, None for now.
    Returns None if the user is gone or does not meet ``conditions``. Raises `AddressTaken`.
    """
    old_key, now = normalized_key("email", user.email), clock.now()
    claim_address(ctx, user.id, new.key)
    changed = users.end_sign_ins(
        ctx,
        user.id,
        *conditions,
        end_reset_links=True,
        email=new.display,
        email_verified_at=confirmed_at or now,
        links_ended_at=links_ended_at,
        updated_at=now,
    )
    if changed:
        details = _old_and_new(old_key, new.key, cause)
        record(ctx, Event.EMAIL_CHANGED, user_id=user.id, details=details)
    return changed


def _begin(
    ctx: Context,
    user: Account | User,
    new: Identifier,
    cause: Cause | None = None,
    *,
    by_link: bool,
) -> str:
    """Make ``new`` the pending address; return the present address. Raises `SignInEnded`."""
    expires_at = clock.now() + ctx.settings.verification_expires_in
    present = former.begin(ctx.db, user.id, user.epoch, new.display, expires_at, by_link=by_link)
    details = _old_and_new(normalized_key("email", present), new.key, cause)
    record(ctx, Event.EMAIL_CHANGE_REQUESTED, user_id=user.id, details=details)
    return present


def _old_and_new(old_key: str, new_key: str, cause: Cause | None) -> Mapping[str, Detail] | None:
    # Pseudonyms, because audit rows outlive the user and another person may get the old address.
    return details_of(cause, old=pseudonym(old_key), new=pseudonym(new_key))


def claim_address(ctx: Context, user_id: UUID, key: str) -> None:
    """Make ``key`` the user's login name of the kind ``email``.

    Raises `AddressTaken` if another user has the name, or had it before a change of address
    that can still be taken back.
    """
    try:
        with ctx.db.begin_nested():
            ctx.db.execute(
                update(LoginName)
                .where(LoginName.user_id == user_id, LoginName.kind == "email")
                .values(key=key)
            )
            if former.find_reserved(ctx.db, [key], user_id):
                raise AddressTaken
    except IntegrityError:
        raise AddressTaken from None


def may_notify(ctx: Context, user_id: UUID) -> bool:
    """Whether the present address may get a mail when the user's pending change is completed.

    The mail counts against the same limit as in `may_mail_own_address`. Call this function before
    the transaction reads anything.
    """
    user = MAIL_USER.one(ctx.database, user_id=user_id)
    if user is None or user.pending_email is None:
        return False
    return user.email_verified_at is not None or ctx.limits.allows(
        "unconfirmed-recipient", normalized_key("email", user.email)
    )


def cancel_change(ctx: Context, user_id: UUID) -> None:
    """End the pending change of address, if there is one; its link becomes inactive."""
    if former.end(ctx.db, user_id):
        record(ctx, Event.EMAIL_CHANGE_CANCELED, user_id=user_id)


# Cancel a pending change of address, or take a completed one back, with a mailed link.
#
# The links go to the address that the user has confirmed before the change: its owner must be
# able to end what an intruder with the user's session and password began. The new address gets a
# link that cancels, too: its owner may not have an account here.


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
    change = former.find_pending(ctx.db, user.id) if user else None
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
