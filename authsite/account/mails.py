"""The mails about sign-ins."""

from dataclasses import replace

from sqlalchemy import select
from sqlalchemy.orm import Session

from authsite.oauth.models import Client, Family
from authsite.platform.mail.message import (
    MailBuilder,
    MailContent,
    MailJob,
    RemainingFactor,
    own_link,
)
from authsite.sign_in.factors import notices as factor_notices
from authsite.sign_in.factors import remaining
from authsite.sign_in.factors.recovering import Named
from authsite.sign_in.notices import LINK_LIFETIME
from authsite.users import identities
from authsite.users.mails import MAIL_USER, build_security_notice, content_for, forgot_page

from . import not_me

NOT_ME_PAGE = "/login/not-me"
REMAINING_PAGE = "/account/factors/remaining"


def build_new_device(job: MailJob) -> MailContent | None:
    """The notice of a login from a new device; None if the user was deleted or disabled."""
    user = MAIL_USER.one(job.services.database, user_id=job.mail.user_id)
    id_, expires_at = job.mail.about_id, job.mail.expires_at
    if user is None or id_ is None or expires_at is None:
        return None
    ring = job.services.keys[not_me.PURPOSE]
    token = not_me.make_token(ring, user.id, id_, job.mail.address, expires_at)
    return content_for(user, job, link=own_link(job, NOT_ME_PAGE, token))


def build_factor_change(job: MailJob) -> MailContent | None:
    """The notice of a change of the second factors; None if the user was deleted or disabled."""
    user = MAIL_USER.one(job.services.database, user_id=job.mail.user_id)
    expires_at, since = job.mail.expires_at, job.mail.about_since
    if user is None or expires_at is None or since is None:
        return None
    named = Named(job.mail.about_id, since, expires_at - LINK_LIFETIME)
    ring = job.services.keys[not_me.CHANGE_PURPOSE]
    token = not_me.make_change_token(ring, user.id, named, job.mail.address)
    return content_for(user, job, link=own_link(job, NOT_ME_PAGE, token))


def build_app_signed_out(job: MailJob) -> MailContent | None:
    """The notice that an app was signed out, with its name; None as above."""
    user = MAIL_USER.one(job.services.database, user_id=job.mail.user_id)
    if user is None:
        return None
    with Session(job.services.database.autocommit) as db:
        name_of_app = select(Client.name).join(Family, Family.client_id == Client.id)
        app = db.scalar(name_of_app.where(Family.id == job.mail.about_id))
    return content_for(user, job, link=forgot_page(job), about=app)


def build_failed_logins(job: MailJob) -> MailContent | None:
    """The notice of failed logins, with the providers that the user can sign in with; or None."""
    content = build_security_notice(job)
    if content is None or job.mail.user_id is None:
        return content
    found = identities.labels_of(job.services, job.mail.user_id)
    return replace(content, about=", ".join(found) or None)


def build_password_changed(job: MailJob) -> MailContent | None:
    """The notice that the password was changed, with the second factors that stay; or None."""
    content = build_security_notice(job)
    if content is None or job.mail.user_id is None:
        return content
    user = MAIL_USER.one(job.services.database, user_id=job.mail.user_id)
    with Session(job.services.database.autocommit) as db:
        left = remaining.list_of(db, job.mail.user_id)
    if not left or user is None:
        return content
    ring = job.services.keys[remaining.PURPOSE]
    token = remaining.make_token(ring, user.id, user.recovery_version)
    factors = tuple(RemainingFactor(each.name, each.created_at, each.device) for each in left)
    return replace(content, factors=factors, other_link=own_link(job, REMAINING_PAGE, token))


def build_codes_ended(job: MailJob) -> MailContent | None:
    """The notice that recovery codes have ended, which leads to the page that makes new ones."""
    content = build_security_notice(job)
    return content and replace(content, link=f"{job.mail.base_url or ''}/account/security")


BUILDERS: dict[str, MailBuilder] = {
    "new_device": build_new_device,
    "password_changed": build_password_changed,
    "app_signed_out": build_app_signed_out,
    "failed_logins": build_failed_logins,
    **dict.fromkeys(factor_notices.KINDS, build_factor_change),
    "factors_reset": build_security_notice,
    "recovery_codes_ended": build_codes_ended,
    "password_known": build_security_notice,
}
