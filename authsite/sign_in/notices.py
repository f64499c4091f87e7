"""Notices by mail: a login from a new device, failed logins, a copied refresh token (ASVS 6.3.5).

They go only to an address that the user has confirmed: another may be another person's, to whom an
attacker could send them. The limits ``security-notice`` and ``failed-logins-notice`` bound them.
"""

from datetime import timedelta
from typing import NamedTuple
from uuid import UUID

from sqlalchemy import Exists, bindparam, exists, literal_column, select

from authsite.platform.audit.events import Event
from authsite.platform.audit.models import AuditEvent
from authsite.platform.context import Context
from authsite.platform.db import PreparedQuery
from authsite.platform.mail import outbox
from authsite.platform.mail.outbox import NO_RECIPIENT, Recipient
from authsite.platform.rate_limit import limit_subject
from authsite.platform.runtime import clock
from authsite.users.account import Account

LOGINS: tuple[Event, ...] = (Event.SESSION_BEGUN, Event.TOKEN_ISSUED)
LINK_LIFETIME = timedelta(days=3)  # of the link "This was not me"


class Recorded(NamedTuple):
    """Whether the audit trail has that the user was created or imported, and a login since."""

    created: bool
    login: bool


def _recorded(*events: Event) -> Exists:
    return exists().where(
        AuditEvent.user_id == bindparam("user_id"),
        AuditEvent.event.in_([literal_column(f"'{name}'") for name in events]),
    )


RECORDED = PreparedQuery(
    select(_recorded(Event.USER_CREATED).label("created"), _recorded(*LOGINS).label("login")),
    Recorded,
)


def is_new_device(ctx: Context, account: Account) -> bool:
    """Whether the user should learn of this login from an unrecognized browser and address.

    It is not recorded yet. That is: it is not the first login since the user was created here or
    imported. If the audit trail no longer has when that was, there was a former login. Counts the
    notice; call it before the transaction writes. With limits off nothing would bound the notices,
    and no address is recognized: there are none.
    """
    if not ctx.settings.new_device_notices or ctx.limits.limiter is None:
        return False
    recorded = RECORDED.one(ctx.database, user_id=account.id)
    if recorded and recorded.created and not recorded.login:
        return False
    return may_notify(ctx, account, "new device")


def may_notify(ctx: Context, account: Account, kind: str) -> bool:
    """Count a notice; whether the user may get it. Call it before the transaction writes."""
    return account.confirmed and ctx.limits.allows(
        "security-notice", limit_subject(account.id), kind
    )


def send_new_device(ctx: Context, account: Account, session_id: UUID) -> None:
    """Enqueue the notice of a login from a new device, with a link that ends the sign-in."""
    recipient, expires_at = _recipient(account), clock.now() + LINK_LIFETIME
    new = outbox.NewMail(
        "new_device", recipient, about_id=session_id, expires_at=expires_at, names_device=True
    )
    outbox.put(ctx, new)


def send_reuse(ctx: Context, account: Account, family_id: UUID) -> None:
    """Enqueue the notice that a family was revoked, since its refresh token was used again."""
    outbox.put(ctx, outbox.NewMail("app_signed_out", _recipient(account), about_id=family_id))


def send_failed_logins(ctx: Context, account: Account | None) -> None:
    """Enqueue the notice that failed logins have locked the account.

    For an unknown name, and over the limit of one a day (None), the row has no recipient, so that
    the cost is the same.
    """
    recipient = _recipient(account) if account and account.confirmed else NO_RECIPIENT
    outbox.put(ctx, outbox.NewMail("failed_logins", recipient))


def _recipient(account: Account) -> Recipient:
    return Recipient(account.id, account.email)
