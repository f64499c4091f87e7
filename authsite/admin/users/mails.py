"""The notices to a user about what an administrator did with the account.

They go to an address that the user has confirmed, and name neither the administrator nor a reason.
"""

from datetime import datetime
from typing import Literal, NamedTuple, TypeAlias
from uuid import UUID

from sqlalchemy import bindparam, select
from sqlalchemy.orm import Session

from authsite.platform.context import Context
from authsite.platform.db import PreparedQuery
from authsite.platform.mail import outbox
from authsite.platform.mail.message import MailBuilder, MailContent, MailJob
from authsite.platform.mail.outbox import Recipient
from authsite.users.groups.labels import PREFIX, groups_of
from authsite.users.mails import MAIL_USER, build_notice, build_security_notice, content_for
from authsite.users.models import User

Kind: TypeAlias = Literal[
    "account_disabled",
    "account_enabled",
    "account_deletion",
    "address_confirmed",
    "factor_taken",
    "groups_changed",
    "login_names_changed",
    "sign_ins_ended",
    "tokens_revoked",
]


def send(ctx: Context, kind: Kind, user: User, expires_at: datetime | None = None) -> None:
    """Enqueue a notice, if the address is confirmed: else it may be another person's.

    ``expires_at``: when what it tells takes place.
    """
    if user.email_verified_at is not None:
        recipient = Recipient(user.id, user.email)
        outbox.put(ctx, outbox.NewMail(kind, recipient, expires_at=expires_at))


def send_erased(ctx: Context, user: User) -> None:
    """Enqueue the notice that the account was erased; its row names no user."""
    if user.email_verified_at is not None:
        outbox.put(ctx, outbox.NewMail("account_erased", Recipient(None, user.email)))


class _Addressee(NamedTuple):
    """A user who may be disabled."""

    name: str | None
    language: str | None
    email: str


_ADDRESSEE = PreparedQuery(
    select(User.name, User.language, User.email).where(
        User.id == bindparam("user_id"), User.disabled_at.is_not(None)
    ),
    _Addressee,
)


def build_disabled(job: MailJob) -> MailContent | None:
    """A notice to a disabled user; None if the user was enabled again or is gone."""
    user = _ADDRESSEE.one(job.services.database, user_id=job.mail.user_id)
    if user is None:
        return None
    name = user.name if user.email == job.mail.address else None
    return MailContent(job.mail.kind, link=job.mail.base_url, name=name, language=user.language)


def build_erased(job: MailJob) -> MailContent:
    """The notice that nothing is left of the account."""
    return MailContent(job.mail.kind, link=job.mail.base_url)


def build_groups(job: MailJob) -> MailContent | None:
    """The notice with the groups that the user is in now."""
    user = MAIL_USER.one(job.services.database, user_id=job.mail.user_id)
    if user is None:
        return None
    names = [each.removeprefix(PREFIX) for each in _groups(job, user.id)]
    return content_for(user, job, link=job.mail.base_url, about=", ".join(names) or None)


def _groups(job: MailJob, user_id: UUID) -> list[str]:
    with Session(job.services.database.autocommit) as db:
        return list(groups_of(db, user_id))


BUILDERS: dict[str, MailBuilder] = {
    "account_disabled": build_disabled,
    "account_deletion": build_disabled,
    "account_erased": build_erased,
    "account_enabled": build_notice,
    "address_confirmed": build_notice,
    "factor_taken": build_security_notice,
    "groups_changed": build_groups,
    "login_names_changed": build_security_notice,
    "sign_ins_ended": build_notice,
    "tokens_revoked": build_notice,
}
