"""Mails about e-mail addresses."""

from authsite import clock
from authsite.context import Context
from authsite.mail import outbox
from authsite.mail.builder import MailBuilder, MailContent, MailJob, with_query
from authsite.mail.outbox import Recipient
from authsite.users.mails import MAIL_USER, build_notice, build_security_notice, name_for_greeting

from .signed_urls import PURPOSE, sign


def send_link(ctx: Context, recipient: Recipient, page_url: str) -> None:
    """Enqueue the link that confirms the recipient's address; ``page_url`` is where it leads."""
    kind = "confirm" if ctx.settings.variant == "B" else "verification"
    expires_at = clock.now() + ctx.settings.verification_expires_in
    outbox.put(ctx, kind, recipient, page_url=page_url, expires_at=expires_at)


def send_welcome(ctx: Context, recipient: Recipient) -> None:
    """Enqueue the mail that follows the confirmation of an address."""
    outbox.put(ctx, "welcome", recipient)


def send_email_changed(ctx: Context, recipient: Recipient) -> None:
    """Enqueue the notice to the present address that another one was requested."""
    outbox.put(ctx, "email_changed", recipient)


def send_already_registered(ctx: Context, recipient: Recipient) -> None:
    """Enqueue the notice that the recipient's address was entered for another account."""
    outbox.put(ctx, "already_registered", recipient)


def build_link(job: MailJob) -> MailContent | None:
    """The link that confirms an address; None if it is confirmed or no longer the user's."""
    user = MAIL_USER.one(job.services.database, user_id=job.mail.user_id)
    address = job.mail.address
    if user is None or not job.mail.expires_at or not job.mail.user_id:
        return None
    unconfirmed = address == user.pending_email or (
        address == user.email and user.email_verified_at is None
    )
    if not unconfirmed:
        return None
    ring = job.services.keys[PURPOSE]
    base_url = job.mail.base_url or ""
    signed = sign(ring, base_url, job.mail.user_id, address, job.mail.expires_at)
    link = with_query(job.mail.page_url, url=signed)
    return MailContent(job.mail.kind, link, name_for_greeting(user, address))


BUILDERS: dict[str, MailBuilder] = {
    "verification": build_link,
    "confirm": build_link,
    "welcome": build_notice,
    "email_changed": build_security_notice,
    "already_registered": build_notice,
}
