"""The mails with a code, which is computed when they are sent: the outbox has none."""

from dataclasses import replace
from datetime import datetime
from typing import NamedTuple
from uuid import UUID

from sqlalchemy import bindparam, literal_column, select

from authsite.platform.db import Database, PreparedQuery
from authsite.platform.mail.message import MailBuilder, MailContent, MailJob, own_link
from authsite.sign_in.pending import MAX_FAILURES, PendingLogin
from authsite.users.account import PASSWORD
from authsite.users.mails import MAIL_USER, content_for

from . import codes

PAGE = "/login/code"


class Waiting(NamedTuple):
    """A row whose code still counts. ``amr``: what was proved before."""

    id: UUID
    user_id: UUID | None
    session_id: UUID | None
    amr: str
    registered: bool
    expires_at: datetime


WAITING = PreparedQuery(
    select(
        PendingLogin.id,
        PendingLogin.user_id,
        PendingLogin.session_id,
        PendingLogin.amr,
        PendingLogin.registered,
        PendingLogin.expires_at,
    ).where(
        PendingLogin.id == bindparam("row_id"),
        PendingLogin.expires_at > bindparam("now", type_=PendingLogin.__table__.c.expires_at.type),
        PendingLogin.failures < literal_column(str(MAX_FAILURES)),
    ),
    Waiting,
)


def find_waiting(database: Database, row_id: UUID | None, now: datetime) -> Waiting | None:
    """The row whose code has this id, unless it has ended."""
    return WAITING.one(database, row_id=row_id, now=now)


def build(job: MailJob) -> MailContent | None:
    """The mail with the code; None if it does not count any more, or the address is another one.

    Where nothing but the mailbox is proved, and the address was never confirmed, it says what the
    code does to the account. Behind a right password it says to choose a new one.
    """
    user = MAIL_USER.one(job.services.database, user_id=job.mail.user_id)
    row = find_waiting(job.services.database, job.mail.about_id, job.now)
    if user is None or row is None or row.user_id != user.id or job.mail.address != user.email:
        return None
    template = job.mail.kind
    if not (row.amr or row.registered or row.session_id or user.email_verified_at):
        template = "first_sign_in_code"
    keys = job.services.keys
    content = content_for(
        user,
        job,
        link=own_link(job, PAGE, codes.seal_link(keys, row.id, row.expires_at)),
        code=codes.code_of(keys, row.id),
    )
    known = set(PASSWORD) <= set(row.amr.split())
    return replace(content, template=template, password_known=known)


def code_for(job: MailJob) -> str | None:
    """The code in the mail to a user who has just registered; None if it has ended."""
    row = find_waiting(job.services.database, job.mail.about_id, job.now)
    if row is None or row.user_id != job.mail.user_id:
        return None
    return codes.code_of(job.services.keys, row.id)


BUILDERS: dict[str, MailBuilder] = {
    "sign_in_code": build,
    "first_sign_in_code": build,
    "change_code": build,
}
