"""The latest events of a user's own account, in words for the user (ASVS 7.5.3)."""

import uuid
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime

from sqlalchemy import select

from authsite.audit.models import AuditEvent
from authsite.context import Context
from authsite.i18n import _
from authsite.oauth.models import Client

MAX_LISTED = 10

# Only events that a user can understand and act upon.
_WORDS: Mapping[str, str] = {
    "email.change_asked": _("Change of the e-mail address requested"),
    "email.change_canceled": _("Change of the e-mail address canceled"),
    "email.change_reverted": _("Change of the e-mail address taken back"),
    "email.changed": _("E-mail address changed"),
    "login.closed": _("Sign-in blocked for some minutes after failed attempts"),
    "login.disowned": _("Signed out everywhere with the link in an e-mail"),
    "login.failed": _("Failed attempt to sign in"),
    "reauthentication.failed": _("Wrong current password entered"),
    "recovery.asked": _("Link to reset the password requested"),
    "recovery.done": _("Password reset"),
    "session.begun": _("Signed in"),
    "session.ended": _("Signed out"),
    "token.created": _("Personal access token created"),
    "token.issued": _("Signed in with an app"),
    "token.reused": _("App signed out: someone may have copied its access"),
    "token.revoked": _("App signed out or token revoked"),
    "user.changed": _("Profile changed"),
    "user.confirmed": _("E-mail address confirmed"),
    "user.created": _("Account created"),
    "user.disabled": _("Account disabled by an administrator"),
    "user.enabled": _("Account enabled by an administrator"),
    "user.exported": _("Data of the account exported by an administrator"),
    "user.others_signed_out": _("Signed out everywhere else"),
    "user.password_changed": _("Password changed"),
    "user.signed_out": _("Signed out everywhere by an administrator"),
}


@dataclass(frozen=True, slots=True)
class Activity:
    """One event; ``words`` are translatable, ``client`` is the name of the app, if there was one.

    ``address`` is None for a command of an administrator.
    """

    words: str
    at: datetime
    client: str | None
    address: str | None
    agent: str | None


def list_latest(ctx: Context, user_id: uuid.UUID) -> list[Activity]:
    """The latest events of the user, at most `MAX_LISTED`, the newest first."""
    rows = ctx.db.execute(
        select(AuditEvent, Client.name)
        .outerjoin(Client, Client.id == AuditEvent.client_id)
        .where(AuditEvent.user_id == user_id, AuditEvent.event.in_(_WORDS))
        .order_by(AuditEvent.id.desc())
        .limit(MAX_LISTED)
    )
    return [
        Activity(_WORDS[event.event], event.at, client, event.address, event.agent)
        for event, client in rows
    ]
