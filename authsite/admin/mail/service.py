"""What administrators do with mails: list them, have dead ones tried again, cancel some."""

from datetime import datetime
from typing import get_args
from uuid import UUID

from authsite.admin.errors import MailEnded, SecurityNotice, UnknownObject
from authsite.admin.guard import Administrator, require_rank
from authsite.admin.lists import Page, after, cursor
from authsite.admin.reasons import cause
from authsite.platform.audit.events import Event
from authsite.platform.audit.service import About, Cause, record, record_all
from authsite.platform.context import Context
from authsite.platform.mail import outbox
from authsite.platform.mail.outbox import Changed, OutboxMessage, State
from authsite.users.models import User

STATES: tuple[State, ...] = get_args(State)
# Mails with a link or a code to use, or a greeting. All others, also those of later versions, tell
# users what happened to their accounts: an attacker must not be able to suppress them.
CANCELABLE = frozenset(
    (
        "change_code",
        "confirm",
        "confirm_change",
        "first_sign_in_code",
        "invitation",
        "provider_link",
        "reset",
        "sign_in_code",
        "verification",
        "welcome",
    )
)


def list_mails(
    ctx: Context, by: Administrator, state: State | None, limit: int, text: str | None = None
) -> Page[OutboxMessage]:
    """Up to ``limit`` mails, the newest first, behind the cursor ``text``.

    ``state``: only these. Raises `InvalidCursor`.
    """
    bound = {"list": "mails", "state": state}
    last = after(ctx, by, bound, text)
    behind = (datetime.fromisoformat(str(last[0])), UUID(str(last[1]))) if last else None
    found = outbox.latest(ctx.db, state, limit + 1, behind)
    if len(found) <= limit:
        return Page(found, None)
    rows = found[:limit]
    key = [rows[-1].created_at.isoformat(), str(rows[-1].id)]
    return Page(rows, cursor(ctx, by, bound, key))


def read(ctx: Context, mail_id: UUID) -> OutboxMessage:
    """The mail. Raises `UnknownObject`."""
    found = ctx.db.get(OutboxMessage, mail_id, populate_existing=True)
    if found is None:
        raise UnknownObject
    return found


def reach(ctx: Context, by: Administrator, mail_id: UUID) -> OutboxMessage:
    """The mail, if ``by`` may act at its user. Raises `UnknownObject` and `Outranked`."""
    found = read(ctx, mail_id)
    user = ctx.db.get(User, found.user_id) if found.user_id else None
    if user is not None:
        require_rank(by, user)
    return found


def require_cancelable(ctx: Context, by: Administrator, mail_id: UUID) -> None:
    """Raise `UnknownObject`, `Outranked` or `SecurityNotice`, as `cancel`."""
    if reach(ctx, by, mail_id).kind not in CANCELABLE:
        raise SecurityNotice


def retry(
    ctx: Context, by: Administrator, mail_id: UUID, reason: str | None = None
) -> OutboxMessage:
    """Have a dead mail tried for another 24 hours; one that waits stays as it is.

    Raises `UnknownObject`, `Outranked`, and `MailEnded` for one that was sent or dropped.
    """
    ctx.limits.count("admin-mail", by.limit_subject)
    reach(ctx, by, mail_id)
    why = cause(by, reason)
    for changed in outbox.retry(ctx.db, mail_id):
        record(ctx, Event.MAIL_RETRIED, **_about(changed, why))
    found = read(ctx, mail_id)
    if found.state != "waiting":
        raise MailEnded
    return found


def retry_dead(ctx: Context, by: Administrator, mail_id: UUID | None) -> int:
    """Have the dead mail with this id tried again, or all dead ones; how many there were."""
    changed = outbox.retry(ctx.db, mail_id)
    record_all(ctx, Event.MAIL_RETRIED, [_about(each, by.cause()) for each in changed])
    return len(changed)


def cancel(
    ctx: Context, by: Administrator, mail_id: UUID, reason: str | None = None
) -> OutboxMessage:
    """Drop a mail that waits or is dead; one that was dropped stays as it is.

    Raises `UnknownObject`, `Outranked`, `SecurityNotice`, and `MailEnded` for one that was sent,
    or that a sender works on.
    """
    require_cancelable(ctx, by, mail_id)
    why = cause(by, reason)
    if changed := outbox.cancel(ctx.db, mail_id):
        record(ctx, Event.MAIL_CANCELED, **_about(changed, why))
    found = read(ctx, mail_id)
    if found.state != "expired":
        raise MailEnded
    return found


def _about(mail: Changed, why: Cause) -> About:
    details = why.details(mail=str(mail.id), kind=mail.kind)
    return {"user_id": mail.user_id, "details": details}
