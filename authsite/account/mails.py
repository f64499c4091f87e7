"""The mails about sign-ins."""

from typing import NamedTuple

from sqlalchemy import Text, bindparam, case, cast, func, select

from authsite.audit.models import AuditEvent
from authsite.db import PreparedQuery
from authsite.mail.builder import MailBuilder, MailContent, MailJob, with_query
from authsite.oauth.models import Client, Family
from authsite.sessions.models import BrowserSession
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


class Device(NamedTuple):
    """Where a sign-in was begun; it may have ended since."""

    address: str | None
    agent: str | None


SESSION_DEVICE = PreparedQuery(
    select(BrowserSession.address, BrowserSession.agent).where(
        BrowserSession.id == bindparam("id")
    ),
    Device,
)
FAMILY_DEVICE = PreparedQuery(
    select(Family.address, Family.agent).where(Family.id == bindparam("id")), Device
)


class LoginEvent(NamedTuple):
    """The event of a login in the audit trail, else the user's latest one."""

    id: int | None


# The details of the event have the id of the session or the token family.
_OF_LOGIN = cast(AuditEvent.details, Text).contains(bindparam("sign_in"))
LOGIN_EVENT = PreparedQuery(
    select(
        func.coalesce(func.min(case((_OF_LOGIN, AuditEvent.id))), func.max(AuditEvent.id)).label(
            "id"
        )
    ).where(AuditEvent.user_id == bindparam("user_id")),
    LoginEvent,
)


def build_new_device(job: MailJob) -> MailContent | None:
    """The notice of a login from a new device; None if the user was deleted or disabled.

    Without the sign-in, which is deleted when it ends, it does not name the device.
    """
    database = job.services.database
    user = MAIL_USER.one(database, user_id=job.mail.user_id)
    id_, expires_at = job.mail.about_id, job.mail.expires_at
    if user is None or id_ is None or expires_at is None:
        return None
    ring = job.services.keys[not_me.PURPOSE]
    event = LOGIN_EVENT.one(database, user_id=user.id, sign_in=str(id_))
    login = not_me.Login(user.id, id_, (event and event.id) or 0)
    token = not_me.make_token(ring, login, expires_at)
    link = with_query(f"{job.mail.base_url or ''}/login/not-me", token=token)
    device = SESSION_DEVICE.one(database, id=id_) or FAMILY_DEVICE.one(database, id=id_)
    agent = agents.describe(device.agent if device else None)
    return MailContent(
        job.mail.kind,
        link=link,
        name=name_for_greeting(user, job.mail.address),
        about=", ".join(filter(None, agent)) or None,
        ip=device.address if device else None,
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
