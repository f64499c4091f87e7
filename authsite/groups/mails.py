"""The mails to all owners when an administrator comes or goes."""

from uuid import UUID

from sqlalchemy import select
from sqlalchemy.orm import Session

from authsite.platform.addresses import shown
from authsite.platform.context import Context
from authsite.platform.mail import outbox
from authsite.platform.mail.builder import MailBuilder, MailContent, MailJob
from authsite.platform.mail.outbox import Recipient
from authsite.users.groups.groups_of_user import groups_of
from authsite.users.groups.reserved import PREFIX, is_reserved
from authsite.users.mails import MAIL_USER, content_for
from authsite.users.models import User


def send_granted(ctx: Context, owner: Recipient, user_id: UUID) -> None:
    """Enqueue the notice that the user was made an administrator."""
    outbox.put(ctx, outbox.NewMail("admin_granted", owner, about_id=user_id))


def send_revoked(ctx: Context, owner: Recipient, user_id: UUID) -> None:
    """Enqueue the notice that the user was removed from a group of administrators."""
    outbox.put(ctx, outbox.NewMail("admin_revoked", owner, about_id=user_id))


def build(job: MailJob) -> MailContent | None:
    """The notice, with the groups of administrators that the user is in now.

    None if the owner was deleted or disabled, or the administrator deleted.
    """
    owner = MAIL_USER.one(job.services.database, user_id=job.mail.user_id)
    if owner is None or job.mail.about_id is None:
        return None
    with Session(job.services.database.autocommit) as db:
        email = db.scalar(select(User.email).where(User.id == job.mail.about_id))
        names = groups_of(db, job.mail.about_id)
    if email is None:
        return None
    roles = [name.removeprefix(PREFIX) for name in names if is_reserved(name)]
    return content_for(
        owner,
        job,
        link=job.mail.base_url,
        about_address=shown(email),
        about=", ".join(roles) or None,
    )


BUILDERS: dict[str, MailBuilder] = {"admin_granted": build, "admin_revoked": build}
