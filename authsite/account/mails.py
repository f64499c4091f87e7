"""The mails about sign-ins."""

from uuid import UUID

from sqlalchemy import Text, case, cast, func, select
from sqlalchemy.orm import Session

from authsite.audit.models import AuditEvent
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


def build_new_device(job: MailJob) -> MailContent | None:
    """The notice of a login from a new device; None if the user was deleted or disabled.

    Without the sign-in, which is deleted when it ends, it does not name the device.
    """
    user = MAIL_USER.one(job.services.database, user_id=job.mail.user_id)
    id_, expires_at = job.mail.about_id, job.mail.expires_at
    if user is None or id_ is None or expires_at is None:
        return None
    with Session(job.services.database.autocommit) as db:
        login = not_me.Login(user.id, id_, _find_event(db, user.id, id_))
        device = db.get(BrowserSession, id_) or db.get(Family, id_)
    token = not_me.make_token(job.services.keys[not_me.PURPOSE], login, expires_at)
    link = with_query(f"{job.mail.base_url or ''}/login/not-me", token=token)
    agent = agents.describe(device.agent if device else None)
    return MailContent(
        job.mail.kind,
        link=link,
        name=name_for_greeting(user, job.mail.address),
        about=", ".join(filter(None, agent)) or None,
        ip=device.address if device else None,
    )


def _find_event(db: Session, user_id: UUID, sign_in_id: UUID) -> int:
    """The id of the event of a login in the audit trail, else of the user's latest one, or 0."""
    # The details of the event have the id of the session or the token family.
    of_login = cast(AuditEvent.details, Text).contains(str(sign_in_id))
    found = func.coalesce(func.min(case((of_login, AuditEvent.id))), func.max(AuditEvent.id))
    return db.scalar(select(found).where(AuditEvent.user_id == user_id)) or 0


def build_app_signed_out(job: MailJob) -> MailContent | None:
    """The notice that an app was signed out, with its name; None as above."""
    user = MAIL_USER.one(job.services.database, user_id=job.mail.user_id)
    if user is None:
        return None
    with Session(job.services.database.autocommit) as db:
        name_of_app = select(Client.name).join(Family, Family.client_id == Client.id)
        app = db.scalar(name_of_app.where(Family.id == job.mail.about_id))
    return MailContent(
        job.mail.kind,
        link=forgot_page(job),
        name=name_for_greeting(user, job.mail.address),
        about=app,
    )


BUILDERS: dict[str, MailBuilder] = {
    "new_device": build_new_device,
    "app_signed_out": build_app_signed_out,
    "failed_logins": build_security_notice,
}
