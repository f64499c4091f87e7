"""Change a user's e-mail address: request, complete with the mailed link, cancel."""

from uuid import UUID

from sqlalchemy import update
from sqlalchemy.exc import IntegrityError

from authsite import clock
from authsite.audit.service import pseudonym, record
from authsite.context import Context
from authsite.login.check import find_credential
from authsite.login.fields import address_errors, read_address
from authsite.login.identifiers import normalized_key
from authsite.login.reauthentication import reauthenticate
from authsite.login.service import limit_subject
from authsite.mail.outbox import Recipient
from authsite.sessions import service as sessions
from authsite.sessions.service import RenewedSession
from authsite.users import pending
from authsite.users import service as users
from authsite.users.account import SignedInUser
from authsite.users.errors import AddressTaken
from authsite.users.models import LoginName, User

from . import mails
from .errors import InvalidSignature
from .service import choose_page, mail_link, may_mail, may_mail_own_address, notify_owner


def request_change(
    ctx: Context,
    user: SignedInUser,
    current_password: str,
    email: str,
    page_url: str | None = None,
) -> None:
    """Begin a change of address after checking the current password.

    A link goes to the new address, a notice to the present one; a mail over the limit of its
    address is not sent, and the answer does not show it. The link of an earlier request becomes
    inactive. With `prevent-enumeration` the answer for an address of another user is that of a
    free one, and the owner is notified instead.

    Raises what `choose_page` and `reauthenticate` raise, also for a text that is no e-mail address,
    `AddressTaken`, `TooManyAttempts` over the limit ``verification`` of the
    user, and `SignInEnded` if the user's epoch was raised meanwhile.
    """
    page_url, account = choose_page(ctx, page_url), user.account
    reauthenticate(ctx, user, current_password, lambda: address_errors(email))
    address = read_address(email)
    found = find_credential(ctx, email, ["email"])
    owner = found.account if found and found.account.id != account.id else None
    if owner and not ctx.settings.prevent_enumeration:
        raise AddressTaken  # before any limit: no mail goes out
    ctx.limits.count("verification", limit_subject(account.id))
    may_mail_new = may_mail(ctx, email)
    may_mail_present = may_mail_own_address(ctx, account)
    expires_at = clock.now() + ctx.settings.verification_expires_in
    present = pending.begin(ctx.db, account.id, account.epoch, address.display, expires_at)
    record(ctx, "email.change_asked", user_id=account.id)
    if owner and may_mail_new:
        notify_owner(ctx, owner)
    else:
        recipient = Recipient(account.id, address.display)
        mail_link(ctx, recipient, page_url, suppress=not may_mail_new)
    if may_mail_present:
        mails.send_email_changed(ctx, Recipient(account.id, present))


def complete_change(
    ctx: Context, user: User, address: str, *, session_id: UUID | None
) -> RenewedSession | None:
    """Make the pending ``address`` the user's e-mail address and login name.

    All sign-ins and reset links end (OWASP Authentication cheat sheet, "Change a registered
    email address"), except the browser session ``session_id``, whose new key is returned. Raises
    `AddressTaken`, and `InvalidSignature` if the change has ended meanwhile.
    """
    now = clock.now()
    new = read_address(address)
    try:
        with ctx.db.begin_nested():
            ctx.db.execute(
                update(LoginName)
                .where(LoginName.user_id == user.id, LoginName.kind == "email")
                .values(key=new.key)
            )
    except IntegrityError:
        raise AddressTaken from None
    # By pseudonym: audit rows outlive the user, and another person may get the old address.
    details = {"old": pseudonym(normalized_key("email", user.email)), "new": pseudonym(new.key)}
    changed = users.end_sign_ins(
        ctx,
        user.id,
        pending.EXISTS,
        User.pending_email == address,
        end_reset_links=True,
        email=new.display,
        email_verified_at=now,
        updated_at=now,
    )
    if changed is None:
        raise InvalidSignature
    record(ctx, "email.changed", user_id=user.id, details=details)
    return sessions.renew(ctx, user.id, session_id, changed.epoch) if session_id else None


def cancel_change(ctx: Context, user_id: UUID) -> None:
    """End the pending change of address, if there is one; its link becomes inactive."""
    if pending.end(ctx.db, user_id):
        record(ctx, "email.change_canceled", user_id=user_id)
