"""Mails about e-mail addresses."""

from dataclasses import replace
from datetime import datetime
from uuid import UUID

from sqlalchemy import select
from sqlalchemy.orm import Session

from authsite.platform.addresses import masked, shown
from authsite.platform.context import Context
from authsite.platform.mail import outbox
from authsite.platform.mail.message import (
    MailBuilder,
    MailContent,
    MailJob,
    is_own_page,
    own_link,
    with_query,
)
from authsite.platform.mail.outbox import OutboxMessage, Recipient
from authsite.platform.runtime import clock
from authsite.sign_in.methods.mail_code.mails import code_for
from authsite.users.mails import (
    MAIL_USER,
    build_notice,
    confirmed_at,
    content_for,
    forgot_page,
)
from authsite.users.models import FormerAddress

from . import links

# The kinds of mail with a link that confirms an address.
_LINKS = ("verification", "confirm", "confirm_change")
VERIFY_PAGE = "/email/verify"
CANCEL_PAGE, REVERT_PAGE = "/email/change/cancel", "/email/change/revert"


def send_link(
    ctx: Context,
    recipient: Recipient,
    page_url: str,
    *,
    change: bool,
    code_id: UUID | None = None,
) -> None:
    """Enqueue the link that confirms the recipient's address; ``page_url`` is where it leads.

    ``change``: the link completes a change of address. ``code_id``: the pending login whose code is
    in the mail, too.
    """
    kind = "confirm" if ctx.settings.confirms_as_in_variant_b else "verification"
    if change:
        kind = "confirm_change"
    expires_at = clock.now() + ctx.settings.verification_expires_in
    mail = outbox.NewMail(kind, recipient, code_id, page_url=page_url, expires_at=expires_at)
    outbox.put(ctx, mail)


def has_link(db: Session, recipient: Recipient) -> bool:
    """Whether a link that confirms the recipient's address was mailed, or will be, and is valid."""
    mailed = select(OutboxMessage.id).where(
        OutboxMessage.user_id == recipient.user_id,
        OutboxMessage.address == recipient.address,
        OutboxMessage.kind.in_(_LINKS),
        OutboxMessage.state.in_(("waiting", "sent")),
        OutboxMessage.expires_at > clock.now(),
    )
    return db.execute(mailed.limit(1)).first() is not None


def send_email_changed(ctx: Context, recipient: Recipient) -> None:
    """Enqueue the notice to the present address that another one was requested."""
    outbox.put(ctx, outbox.NewMail("email_changed", recipient))


def send_email_replaced(
    ctx: Context, recipient: Recipient, former: FormerAddress | None = None
) -> None:
    """Enqueue the notice to the ``recipient`` that the account has another address now.

    ``former``: the recipient's address, if a link in the mail can restore it.
    """
    about_id, expires_at = (former.id, former.expires_at) if former else (None, None)
    outbox.put(
        ctx, outbox.NewMail("email_replaced", recipient, about_id=about_id, expires_at=expires_at)
    )


def send_already_registered(ctx: Context, recipient: Recipient) -> None:
    """Enqueue the notice that the recipient's address was entered for another account."""
    outbox.put(ctx, outbox.NewMail("already_registered", recipient))


def build_link(job: MailJob) -> MailContent | None:
    """The link that confirms an address; None if it is confirmed or no longer the user's."""
    user = MAIL_USER.one(job.services.database, user_id=job.mail.user_id)
    address = job.mail.address
    if user is None or not job.mail.expires_at:
        return None
    if address != user.email or user.email_verified_at is not None:
        return None
    code = code_for(job) if job.mail.about_id else None
    link = _confirming_link(job, user.id, job.mail.expires_at)
    return content_for(user, job, link=link, code=code)


def build_change_link(job: MailJob) -> MailContent | None:
    """The link that completes a change of address; None if the change has ended.

    The recipient may be another person. So the mail names both addresses, and has a second link
    that cancels the change without a sign-in. What an administrator asked for is completed by the
    link alone, and may have a wrong address: that mail names the present one only in part.
    """
    user = MAIL_USER.one(job.services.database, user_id=job.mail.user_id)
    if user is None or not job.mail.expires_at or job.mail.address != user.pending_email:
        return None
    ring = job.services.keys[links.DECLINE]
    token = links.cancel_token(ring, user.id, user.epoch, user.pending_email)
    content = content_for(
        user,
        job,
        link=_confirming_link(job, user.id, job.mail.expires_at),
        about_address=shown(user.email),
        other_link=own_link(job, CANCEL_PAGE, token),
    )
    if user.pending_by_link:
        return replace(content, by_link=True, about_address=masked(user.email))
    return content


def _confirming_link(job: MailJob, user_id: UUID, expires: datetime) -> str:
    """The link that confirms the recipient's address: a short one if it opens our own page."""
    address, keys = job.mail.address, job.services.keys
    if is_own_page(job, VERIFY_PAGE):
        token = links.short_token(keys[links.LINK], user_id, address, expires)
        return f"{job.mail.page_url}/{token}"
    signed = links.sign(keys[links.PURPOSE], _base(job), user_id, address, expires)
    return with_query(job.mail.page_url, url=signed)


def build_changed(job: MailJob) -> MailContent | None:
    """The notice of a pending change; None if the user was deleted or disabled.

    It leads to the page where a new password is requested, which ends the change as well. Only an
    address that the user has confirmed can cancel the change: another may be another person's.
    """
    user = MAIL_USER.one(job.services.database, user_id=job.mail.user_id)
    if user is None:
        return None
    cancel = None
    if user.pending_email and confirmed_at(user, job.mail.address):
        ring = job.services.keys[links.CANCEL]
        token = links.cancel_token(ring, user.id, user.epoch, user.pending_email)
        cancel = own_link(job, CANCEL_PAGE, token)
    link = forgot_page(job) if user.email == job.mail.address else None
    return content_for(user, job, link=link, other_link=cancel)


def build_replaced(job: MailJob) -> MailContent | None:
    """The notice of a completed change, with the link that takes it back, if there is one.

    None if the user was deleted or disabled. The greeting has no name, since the address no longer
    belongs to the user (`name_for_greeting`).
    """
    user = MAIL_USER.one(job.services.database, user_id=job.mail.user_id)
    if user is None:
        return None
    link = None
    if job.mail.about_id and job.mail.expires_at:
        ring = job.services.keys[links.REVERT]
        token = links.revert_token(ring, job.mail.about_id, job.mail.expires_at)
        link = own_link(job, REVERT_PAGE, token)
    return content_for(user, job, link=link)


def build_already_registered(job: MailJob) -> MailContent | None:
    """The notice to the owner of an address, who may sign in or choose a new password."""
    content = build_notice(job)
    login_page = job.services.settings.login_page_url
    own_page = f"{_base(job)}/login"
    return content and replace(
        content,
        link=login_page if "://" in login_page else own_page,
        other_link=forgot_page(job),
    )


def _base(job: MailJob) -> str:
    return job.mail.base_url or ""


BUILDERS: dict[str, MailBuilder] = {
    "verification": build_link,
    "confirm": build_link,
    "confirm_change": build_change_link,
    "email_changed": build_changed,
    "email_replaced": build_replaced,
    "already_registered": build_already_registered,
}
