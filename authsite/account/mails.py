"""The mails about sign-ins."""

from typing import NamedTuple

from sqlalchemy import bindparam, select

from authsite.db import PreparedQuery
from authsite.mail.builder import MailBuilder, MailContent, MailJob, with_query
from authsite.oauth.models import Client, Family
from authsite.users import agents
from authsite.users.mails import (
    MAIL_USER,
    build_security_notice,
    forgot_page,
    name_for_greeting,
)

from . import not_me


class AppName(NamedTuple):
    """The name of the client of a family."""

    name: str


APP_NAME = PreparedQuery(
    select(Client.name)
    .join(Family, Family.client_id == Client.id)
    .where(Family.id == bindparam("family_id")),
    AppName,
)


def build_new_device(job: MailJob) -> MailContent | None:
    """The notice of a login from a new device; None if the user was deleted or disabled.

    Its link ends the sign-in. If that has ended already, it leads to the page where a new password
    is requested.
    """
    database = job.services.database
    user = MAIL_USER.one(database, user_id=job.mail.user_id)
    if user is None:
        return None
    link, sign_in = forgot_page(job), not_me.find_sign_in(database, job.mail.about_id)
    if sign_in and job.mail.expires_at:
        ring = job.services.keys[not_me.PURPOSE]
        token = not_me.make_token(ring, sign_in.id, job.mail.expires_at)
        link = with_query(f"{job.mail.base_url or ''}/login/not-me", token=token)
    agent = agents.describe(sign_in.agent if sign_in else None)
    return MailContent(
        job.mail.kind,
        link=link,
        name=name_for_greeting(user, job.mail.address),
        about=", ".join(filter(None, agent)) or None,
        ip=sign_in.address if sign_in else None,
    )


def build_app_signed_out(job: MailJob) -> MailContent | None:
    """The notice that an app was signed out, with its name; None as above."""
    user = MAIL_USER.one(job.services.database, user_id=job.mail.user_id)
    if user is None:
        return None
    app = APP_NAME.one(job.services.database, family_id=job.mail.about_id)
    return MailContent(
        job.mail.kind,
        link=forgot_page(job),
        name=name_for_greeting(user, job.mail.address),
        about=app.name if app else None,
    )


BUILDERS: dict[str, MailBuilder] = {
    "new_device": build_new_device,
    "app_signed_out": build_app_signed_out,
    "failed_logins": build_security_notice,
}
