"""Notices by mail: a login from a new device, failed logins, a copied refresh token (ASVS 6.3.5).

They go only to an address that the user has confirmed: another may be another person's, to whom an
attacker could send them. The limits ``security-notice`` and ``failed-logins-notice`` bound them.
"""

from datetime import UTC, datetime, timedelta
from typing import NamedTuple
from uuid import UUID

from sqlalchemy import Exists, bindparam, exists, literal_column, select

from authsite.platform.addresses import masked
from authsite.platform.audit.events import Event
from authsite.platform.audit.models import AuditEvent
from authsite.platform.context import Context
from authsite.platform.crypto.sealed import SealedFormat
from authsite.platform.db import PreparedQuery
from authsite.platform.http import cookies
from authsite.platform.mail import outbox
from authsite.platform.mail.outbox import NO_RECIPIENT, Recipient
from authsite.platform.rate_limit import limit_subject
from authsite.platform.request_state import Request
from authsite.platform.runtime import clock
from authsite.users import former
from authsite.users.account import Account

from .identifiers import normalized_key

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


# The cookie with which the next page says that a change of address can still be taken back.
#
# A login and a reset set it. A person who uses an account should know that its former address can
# still take it back (account pre-hijacking, see `authsite.users.former`).


PURPOSE = "undo notice"

_FORMAT = SealedFormat("255p")  # as in `known_address`


class UndoNotice(NamedTuple):
    """The former address, shown in part, and until when it can take the change back."""

    address: str
    expires_at: datetime


def announce(request: Request, user_id: UUID) -> None:
    """Make the next page say it, if a change of the user's address can be taken back."""
    found = former.find_restorable(request.authsite.database, user_id)
    if found is None:
        return
    ring, expires = request.authsite.services.keys[PURPOSE], int(found.expires_at.timestamp())
    sealed = _FORMAT.seal(ring, masked(found.email).encode(), expires=expires)
    _write(request, request.response, sealed, expires - int(clock.now().timestamp()))


def undo_notice(request: Request) -> UndoNotice | None:
    """``request.authsite.undo_notice``: what the page has to say, once."""
    value = cookies.read(request, cookies.host_name(request, cookies.UNDO))
    if not value:
        return None
    request.add_response_callback(lambda request, response: _write(request, response, "", 0))
    values = _FORMAT.unseal(request.authsite.services.keys[PURPOSE], value, clock.now())
    if values is None:
        return None
    address, expires = values
    return UndoNotice(address.decode(), datetime.fromtimestamp(expires, UTC))


def _write(request: Request, response: object, value: str, max_age: int) -> None:
    name = cookies.host_name(request, cookies.UNDO)
    cookies.write(request, response, cookies.Cookie(name, value, max_age))


# The limit of mails to a user's address that may be another person's: it is not confirmed.


def may_mail_own_address(ctx: Context, account: Account) -> bool:
    """Count a mail to the user's own address; return whether it is within its limit.

    A confirmed address has no limit. An unconfirmed one may belong to another person: it has the
    limit ``unconfirmed-recipient``, which all accounts with this address share in turn.
    """
    return account.confirmed or ctx.limits.allows(
        "unconfirmed-recipient", normalized_key("email", account.email)
    )
