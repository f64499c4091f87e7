"""Send verification links: to whom, within which limits, and what the answer may reveal.

Each function counts its limits before the request's transaction has written anything; see
`authsite.platform.rate_limit.caller_limits`.
"""

import uuid
from datetime import timedelta
from uuid import UUID

from authsite.platform.audit.events import Event
from authsite.platform.audit.service import Cause, details_of, record
from authsite.platform.context import Context
from authsite.platform.crypto.sealed import SealedFormat
from authsite.platform.http import cookies
from authsite.platform.http.errors import FieldError, ValidationFailed
from authsite.platform.http.return_to import choose_page_url
from authsite.platform.mail.outbox import NO_RECIPIENT, Recipient
from authsite.platform.rate_limit import limit_subject
from authsite.platform.request_state import Request
from authsite.platform.runtime import clock
from authsite.sign_in.credentials import find_account
from authsite.sign_in.identifiers import normalized_key
from authsite.sign_in.notices import may_mail_own_address
from authsite.users import former
from authsite.users.account import Account, lacks_confirmation
from authsite.users.models import User

from . import mails
from .errors import LoginNotConfirmed


def require_confirmed(ctx: Context, account: Account) -> None:
    """An account condition: raises `LoginNotConfirmed` if confirmation is required and missing."""
    if lacks_confirmation(account, ctx.settings):
        raise LoginNotConfirmed


def notify_unconfirmed(ctx: Context, account: Account) -> None:
    """Mail a link to an unconfirmed user whose login was denied like a wrong password."""
    if _may_confirm(ctx, normalized_key("email", account.email), unconfirmed=True):
        mail_link(ctx, Recipient(account.id, account.email), choose_page(ctx))


def choose_page(ctx: Context, requested: str | None = None) -> str:
    """The URL of the page that a verification link opens: ``requested``, or the default page.

    Raises `ValidationFailed` for a page that is not among the configured ones.
    """
    cfg = ctx.settings
    own = tuple(f"{base_url}/email/verify" for base_url in ctx.request_info.base_urls)
    if cfg.variant == "B":
        allowed = (cfg.users_confirm_email_url,) if cfg.users_confirm_email_url else own
    else:
        allowed = cfg.allowed_verify_email_urls or own
    return choose_page_url(requested, allowed, "verification_url")


def send_link(ctx: Context, account: Account, page_url: str | None) -> bool:
    """Mail a link to the unconfirmed address of a signed-in user.

    Returns False if the address is confirmed already. No mail goes out over the limit of the
    address (`may_mail_own_address`); the answer does not show it. Raises `TooManyAttempts` over
    the limit ``verification`` of the user, and what `choose_page` raises.
    """
    page_url = choose_page(ctx, page_url)
    if account.confirmed:
        return False
    ctx.limits.count("verification", limit_subject(account.id))
    suppress = not may_mail_own_address(ctx, account)
    mail_link(ctx, Recipient(account.id, account.email), page_url, suppress=suppress)
    return True


def resend_link(ctx: Context, account: Account) -> None:
    """Mail a link again: to the pending address, else to the unconfirmed present one, if any.

    A pending change lasts as long as the new link. Either address may be another person's: over
    its own limit no mail goes out, and the answer does not show it. Raises `TooManyAttempts` over
    the limit ``verification`` of the user.
    """
    change = former.find_apart(ctx.database, account.id)
    if change is None and account.confirmed:
        return
    ctx.limits.count("verification", limit_subject(account.id))
    allowed = may_mail(ctx, change.email) if change else may_mail_own_address(ctx, account)
    expires_at = clock.now() + ctx.settings.verification_expires_in
    address = former.prolong(ctx.db, account.id, expires_at)
    if address is None and not account.confirmed:
        address = account.email
    if address is not None:
        recipient, is_change = Recipient(account.id, address), address != account.email
        page_url = choose_page(ctx)
        mail_link(ctx, recipient, page_url, suppress=not allowed, change=is_change)


def request_link(
    ctx: Context,
    email: str | None,
    page_url: str | None = None,
    *,
    user: Account | None = None,
    code_id: UUID | None = None,
) -> None:
    """Mail a link to the user with the address ``email``, if the address is unconfirmed.

    For unauthenticated callers: answer and cost are the same for every address. For any other
    address, and over the limit of the address, the outbox row has no recipient. Only mails that
    go out are counted against the address. For the own address of the signed-in ``user`` it is
    `send_link`, with its limits. ``code_id``: as of `mail_link`. Raises `TooManyAttempts` over the
    limit of the caller's IP address, `ValidationFailed` without ``email``, and what `choose_page`
    raises.
    """
    if user and email == user.email:
        send_link(ctx, user, page_url)
        return
    page_url = choose_page(ctx, page_url)
    if not email:
        message = "Send an access token, or the e-mail address that is to be verified."
        raise ValidationFailed(details=[FieldError("required", "email", message)])
    ctx.limits.count("verification-address", ctx.limits.address)
    account = find_account(ctx, email, ["email"])
    if account and not account.confirmed:
        recipient, unconfirmed = Recipient(account.id, account.email), True
    else:
        recipient, unconfirmed = NO_RECIPIENT, False
    allowed = _may_confirm(ctx, normalized_key("email", email), unconfirmed=unconfirmed)
    mail_link(ctx, recipient, page_url, suppress=not allowed, code_id=code_id)


def mail_link(
    ctx: Context,
    recipient: Recipient,
    page_url: str,
    *,
    suppress: bool = False,
    change: bool = False,
    code_id: UUID | None = None,
    cause: Cause | None = None,
) -> None:
    """Put the mail with a link for the address of ``recipient`` into the outbox.

    ``change``: the address is the new one of a change, and its owner may not have an account here.
    ``code_id``: the pending login of the browser that has registered the account, whose code is in
    the mail, too.

    ``suppress`` (over a limit): the row has no recipient, as for an unknown account, so that the
    cost is the same.
    """
    if suppress:
        recipient = NO_RECIPIENT
    mails.send_link(ctx, recipient, page_url, change=change, code_id=code_id)
    user_id, details = recipient.user_id, details_of(cause)
    record(ctx, Event.VERIFICATION_REQUESTED, user_id=user_id, details=details)


def notify_owner(ctx: Context, owner: Account | None) -> None:
    """Mail the owner of an e-mail address that a registration or a change has entered it.

    Used where the answer must not reveal that the address is taken. Without an ``owner`` the
    outbox row has no recipient, so that the cost is the same.
    """
    recipient = Recipient(owner.id, owner.email) if owner else NO_RECIPIENT
    mails.send_already_registered(ctx, recipient)


def may_mail(ctx: Context, address: str) -> bool:
    """Count a mail to ``address``; return whether it is within the limit ``mail-recipient``."""
    return ctx.limits.allows("mail-recipient", normalized_key("email", address))


def _may_confirm(ctx: Context, key: str, *, unconfirmed: bool) -> bool:
    # A request that sends no mail is counted under another key: it takes the same time and uses
    # up nothing of the owner's limit.
    return ctx.limits.allows("verification-email", *([key] if unconfirmed else ["no mail", key]))


# The cookie of a browser in which an account has just been registered.
#
# A browser that has registered an account, and then confirms its address, is signed in: it knows
# the password and reads the mail. The cookie is bound to user, epoch and address. For a taken
# address it names a user who does not exist, so it does not reveal whether an account was
# created. Anywhere but in the page of the mailed link it opens nothing.


LIFETIME = timedelta(hours=1)
BROWSER_PURPOSE = "registered browser"

_FORMAT = SealedFormat("16sI")  # user and epoch; bound to the address


def keep_registered(request: Request, user: User | None, email: str) -> None:
    """Set the cookie for the new ``user``, or for the taken address ``email``."""
    address = user.email if user else email
    user_id, epoch = (user.id, user.epoch) if user else (uuid.uuid4(), 0)
    expires = int((clock.now() + LIFETIME).timestamp())
    ring = request.authsite.services.keys[BROWSER_PURPOSE]
    sealed = _FORMAT.seal(ring, user_id.bytes, epoch, expires=expires, bound=address.encode())
    _write(request, sealed, int(LIFETIME.total_seconds()))


def is_registered_here(request: Request, user: User) -> bool:
    """Whether this browser has registered ``user`` with the present address, within the hour."""
    value = cookies.read(request, cookies.host_name(request, cookies.REGISTERED))
    if not value:
        return False
    ring, address = request.authsite.services.keys[BROWSER_PURPOSE], user.email.encode()
    fields = _FORMAT.unseal(ring, value, clock.now(), bound=address)
    return fields is not None and fields[:2] == (user.id.bytes, user.epoch)


def forget_registered(request: Request) -> None:
    """Delete the cookie."""
    _write(request, "", 0)


def _write(request: Request, value: str, max_age: int) -> None:
    name = cookies.host_name(request, cookies.REGISTERED)
    cookies.write(request, request.response, cookies.Cookie(name, value, max_age))
