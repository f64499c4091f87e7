"""The notices about a linked, a new and an unlinked identity."""

from uuid import UUID

from sqlalchemy.orm import Session

from authsite.platform.context import Context
from authsite.platform.mail import outbox
from authsite.platform.mail.builder import MailBuilder, MailContent, MailJob
from authsite.platform.mail.outbox import Recipient
from authsite.users.identities import service as identities
from authsite.users.identities.models import Identity
from authsite.users.mails import MAIL_USER, content_for, forgot_page


def send_linked(ctx: Context, recipient: Recipient, identity_id: UUID) -> None:
    """Enqueue the notice that the signed-in user has linked the identity."""
    _send(ctx, "identity_linked", recipient, identity_id)


def send_new(ctx: Context, recipient: Recipient, identity_id: UUID) -> None:
    """Enqueue the notice that a first sign-in with the identity was taken as one of the user."""
    _send(ctx, "identity_new", recipient, identity_id)


def send_unlinked(ctx: Context, recipient: Recipient) -> None:
    """Enqueue the notice that an identity was unlinked; it names those that are left."""
    _send(ctx, "identity_unlinked", recipient, None)


def build_linked(job: MailJob) -> MailContent | None:
    """The notice, with the provider if the identity is still there; None without the user."""
    user = MAIL_USER.one(job.services.database, user_id=job.mail.user_id)
    if user is None:
        return None
    with Session(job.services.database.autocommit) as db:
        found = db.get(Identity, job.mail.about_id) if job.mail.about_id else None
        provider = identities.label(job.services.settings, found) if found else None
    return content_for(user, job, link=forgot_page(job), about=provider)


def build_unlinked(job: MailJob) -> MailContent | None:
    """The notice, with the providers that are left; None if the user was deleted or disabled."""
    user = MAIL_USER.one(job.services.database, user_id=job.mail.user_id)
    if user is None:
        return None
    left = ", ".join(identities.labels_of(job.services, user.id)) or None
    return content_for(user, job, link=forgot_page(job), about=left)


def _send(ctx: Context, kind: str, recipient: Recipient, identity_id: UUID | None) -> None:
    new = outbox.NewMail(kind, recipient, about_id=identity_id, names_device=True)
    outbox.put(ctx, new)


BUILDERS: dict[str, MailBuilder] = {
    "identity_linked": build_linked,
    "identity_new": build_linked,
    "identity_unlinked": build_unlinked,
}
