"""Notices to users by mail, and what the builders of every mail to a user share."""

from dataclasses import replace
from datetime import datetime
from typing import Any, NamedTuple
from uuid import UUID

from sqlalchemy import bindparam, select

from authsite.platform.context import Context
from authsite.platform.db import PreparedQuery
from authsite.platform.mail import outbox
from authsite.platform.mail.message import MailBuilder, MailContent, MailJob
from authsite.platform.mail.outbox import Recipient

from . import account, former
from .models import User


class MailUser(NamedTuple):
    """An enabled user, as a builder needs it."""

    id: UUID
    email: str
    pending_email: str | None
    pending_by_link: bool
    email_verified_at: datetime | None
    epoch: int
    recovery_version: int
    name: str | None
    language: str | None


MAIL_USER = PreparedQuery(
    select(
        User.id,
        User.email,
        former.EMAIL,
        User.pending_by_link,
        User.email_verified_at,
        User.epoch,
        User.recovery_version,
        User.name,
        User.language,
    ).where(User.id == bindparam("user_id"), User.disabled_at.is_(None)),
    MailUser,
)


def send_password_changed(ctx: Context, recipient: Recipient) -> None:
    """Enqueue the notice that the password was changed or reset."""
    outbox.put(ctx, outbox.NewMail("password_changed", recipient, names_device=True))


def send_welcome(ctx: Context, recipient: Recipient) -> None:
    """Enqueue the mail that follows the confirmation of an address."""
    outbox.put(ctx, outbox.NewMail("welcome", recipient))


def build_notice(job: MailJob) -> MailContent | None:
    """A notice that leads to the home page; None if the user was deleted or disabled."""
    user = MAIL_USER.one(job.services.database, user_id=job.mail.user_id)
    if user is None:
        return None
    return content_for(user, job, link=job.mail.base_url)


def build_security_notice(job: MailJob) -> MailContent | None:
    """A notice that leads to the page where a new password is requested; None as above."""
    content = build_notice(job)
    return content and replace(content, link=forgot_page(job))


def content_for(user: MailUser, job: MailJob, **values: Any) -> MailContent:
    """The content of a mail to ``user``: in the user's language, with the name and the device.

    ``values``: those of `MailContent`.
    """
    return MailContent(
        job.mail.kind,
        name=name_for_greeting(user, job.mail.address),
        language=user.language,
        device=account.describe(job.mail.from_agent),
        **values,
    )


def name_for_greeting(user: MailUser, address: str) -> str | None:
    """The name of ``user`` for the greeting in a mail to ``address``.

    None unless the user has confirmed the address: a registration with another person's address, or
    a change to it, must not send a text of the caller's choice to that person.
    """
    return user.name if confirmed_at(user, address) else None


def confirmed_at(user: MailUser, address: str) -> bool:
    """Whether ``user`` has confirmed ``address``; if not, it may be another person's."""
    return user.email_verified_at is not None and user.email == address


def forgot_page(job: MailJob) -> str | None:
    """The URL of the page where a new password is requested."""
    base_url = job.mail.base_url
    return f"{base_url}/password/forgot" if base_url else None


BUILDERS: dict[str, MailBuilder] = {"welcome": build_notice}
