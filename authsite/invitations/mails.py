"""The mail with an invitation."""

from sqlalchemy import bindparam, select
from sqlalchemy.orm import Session

from authsite.platform.context import Context
from authsite.platform.mail import outbox
from authsite.platform.mail.builder import MailBuilder, MailContent, MailJob, own_link
from authsite.platform.mail.outbox import Recipient
from authsite.users.groups.models import Group
from authsite.users.models import LoginName, User

from . import links
from .conditions import open_now
from .models import Invitation


def send_invitation(ctx: Context, row: Invitation) -> None:
    """Enqueue the link of an invitation."""
    recipient = Recipient(None, row.email)
    mail = outbox.NewMail("invitation", recipient, row.id, expires_at=row.expires_at)
    outbox.put(ctx, mail)


_LANGUAGE = (
    select(User.language)
    .join(LoginName, LoginName.user_id == User.id)
    .where(LoginName.key == bindparam("key"))
)
_TITLE = select(Group.title).where(Group.name == bindparam("name"))


def build(job: MailJob) -> MailContent | None:
    """The link, in the language of the user who has the address; None if it would not work.

    The link is made at the time of sending, and is that of the latest mail.
    """
    cfg = job.services.settings
    with Session(job.services.database.autocommit) as db:
        query = select(Invitation).where(
            Invitation.id == job.mail.about_id, *open_now(job.now, cfg)
        )
        row = db.scalars(query).one_or_none()
        if row is None:
            return None
        language = db.scalar(_LANGUAGE, {"key": row.key})
        title = db.scalar(_TITLE, {"name": row.group_name}) if row.group_name else None
    token = links.make(job.services.keys[links.PURPOSE], row.id, row.version, row.expires_at)
    return MailContent(
        job.mail.kind,
        link=own_link(job, links.PAGE, token),
        about=title or row.group_name,
        language=language,
    )


BUILDERS: dict[str, MailBuilder] = {"invitation": build}
