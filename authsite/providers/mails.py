"""Mails of a sign-in with another provider."""

from authsite.platform.context import Context
from authsite.platform.mail import outbox
from authsite.platform.mail.message import MailBuilder, MailContent, MailJob, own_link
from authsite.platform.mail.outbox import NO_RECIPIENT, Recipient
from authsite.platform.runtime import clock
from authsite.platform.settings.sections.providers import Provider
from authsite.users.mails import build_security_notice

from .waiting import Waiting, link_token

_PATH = "/login/with/{name}/link"


def send_link(ctx: Context, provider: Provider, address: str | None, waits: Waiting) -> None:
    """Enqueue the link that proves ``address``, for the browser of ``waits``.

    None, over a limit: the row has no recipient, so that the cost is the same.
    """
    page_url = f"{ctx.request_info.base_url}{_PATH.format(name=provider.name)}"
    recipient = Recipient(None, address) if address else NO_RECIPIENT
    outbox.put(
        ctx,
        outbox.NewMail(
            "provider_link",
            recipient,
            about_id=waits.id,
            page_url=page_url,
            expires_at=clock.now() + waits.lifetime,
            names_device=True,
        ),
    )


def send_started_afresh(ctx: Context, recipient: Recipient) -> None:
    """Enqueue the notice that an account that was never confirmed was replaced by a new one."""
    outbox.put(ctx, outbox.NewMail("provider_afresh", recipient, names_device=True))


def build_link(job: MailJob) -> MailContent | None:
    """The link; None if the provider is no longer in the settings, or over a limit."""
    mail = job.mail
    cfg = job.services.settings
    paths = {f"{mail.base_url}{_PATH.format(name=each.name)}": each for each in cfg.providers}
    provider = paths.get(mail.page_url or "")
    if provider is None or not mail.about_id or not mail.expires_at:
        return None
    if mail.address == NO_RECIPIENT.address:
        return None
    token = link_token(job.services.keys, mail.about_id, mail.expires_at)
    return MailContent(
        mail.kind,
        about=provider.label,
        link=own_link(job, _PATH.format(name=provider.name), token),
    )


BUILDERS: dict[str, MailBuilder] = {
    "provider_link": build_link,
    "provider_afresh": build_security_notice,
}
