"""The mail with a reset link."""

from authsite.platform.context import Context
from authsite.platform.mail import outbox
from authsite.platform.mail.builder import (
    MailBuilder,
    MailContent,
    MailJob,
    is_own_page,
    with_query,
)
from authsite.platform.mail.outbox import Recipient
from authsite.platform.runtime import clock
from authsite.users.mails import MAIL_USER, content_for

from .tokens import PURPOSE, for_link, make

RESET_PAGE = "/password/reset"


def send_reset(ctx: Context, recipient: Recipient, page_url: str) -> None:
    """Enqueue the link that resets the password; ``page_url`` is where it leads."""
    expires_at = clock.now() + ctx.settings.reset_expires_in
    outbox.put(ctx, outbox.NewMail("reset", recipient, page_url=page_url, expires_at=expires_at))


def build_reset(job: MailJob) -> MailContent | None:
    """The reset link; None if the user was deleted, disabled, or has another address.

    The token is made for the `recovery_version` at the time of sending: a password change between
    the request and the sending does not invalidate the link.
    """
    user = MAIL_USER.one(job.services.database, user_id=job.mail.user_id)
    if user is None or user.email != job.mail.address or not job.mail.expires_at:
        return None
    token = make(job.services.keys[PURPOSE], user, job.mail.expires_at)
    if is_own_page(job, RESET_PAGE):
        link = f"{job.mail.page_url}/{for_link(user, token)}"
    else:
        link = with_query(job.mail.page_url, email=user.email, token=token)
    return content_for(user, job, link=link)


BUILDERS: dict[str, MailBuilder] = {"reset": build_reset}
