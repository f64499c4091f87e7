"""The notice to a user that a personal access token was created."""

from typing import NamedTuple
from uuid import UUID

from sqlalchemy import bindparam, select

from authsite.oauth.models import PersonalToken
from authsite.platform.context import Context
from authsite.platform.db import PreparedQuery
from authsite.platform.mail import outbox
from authsite.platform.mail.builder import MailBuilder, MailContent, MailJob
from authsite.platform.mail.outbox import Recipient
from authsite.users.mails import MAIL_USER, confirmed_at, content_for, forgot_page


class TokenName(NamedTuple):
    """The name of a personal access token."""

    name: str


TOKEN_NAME = PreparedQuery(
    select(PersonalToken.name).where(PersonalToken.id == bindparam("token_id")), TokenName
)


def send_created(ctx: Context, recipient: Recipient, token_id: UUID) -> None:
    """Enqueue the notice that the token was created."""
    outbox.put(ctx, outbox.NewMail("token_created", recipient, about_id=token_id))


def build_created(job: MailJob) -> MailContent | None:
    """The notice; None if the user was deleted or disabled.

    It has the token's name only at an address that the user has confirmed, as with the name in a
    greeting. A token that was revoked since is still reported.
    """
    database, address = job.services.database, job.mail.address
    user = MAIL_USER.one(database, user_id=job.mail.user_id)
    if user is None:
        return None
    found = TOKEN_NAME.one(database, token_id=job.mail.about_id)
    return content_for(
        user,
        job,
        link=forgot_page(job),
        about=found.name if found and confirmed_at(user, address) else None,
    )


BUILDERS: dict[str, MailBuilder] = {"token_created": build_created}
