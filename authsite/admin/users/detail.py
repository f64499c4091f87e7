"""What belongs to one user, as plain values: for API and pages."""

from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import Any
from uuid import UUID

from sqlalchemy import select, tuple_

from authsite.account import active_sessions, export
from authsite.account.active_sessions import ActiveSession
from authsite.admin.administrator import Administrator
from authsite.admin.lists import Page, after, cursor
from authsite.oauth.listed import ListedToken, list_personal
from authsite.platform.audit.events import Event
from authsite.platform.audit.models import AuditEvent
from authsite.platform.context import Context
from authsite.platform.mail.models import OutboxMessage
from authsite.platform.rate_limit import delays
from authsite.platform.runtime import clock
from authsite.sign_in.methods.passkeys.models import Passkey
from authsite.sign_in.methods.totp.models import TotpFactor
from authsite.users.levels import acr_of, shown_amr
from authsite.users.models import User

MAILS_OF = timedelta(days=30)
LOOKED_AT = 5_000  # events of one user
_LOGINS = (Event.SESSION_BEGUN, Event.TOKEN_ISSUED)


def last_login_at(ctx: Context, user: User) -> datetime | None:
    """When the user last signed in, as far as the newest `LOOKED_AT` events of the user tell."""
    of_user = select(AuditEvent.at, AuditEvent.event, AuditEvent.id).where(
        AuditEvent.user_id == user.id
    )
    newest = of_user.order_by(AuditEvent.id.desc()).limit(LOOKED_AT).subquery()
    logins = select(newest.c.at).where(newest.c.event.in_(_LOGINS))
    return ctx.db.scalar(logins.order_by(newest.c.id.desc()).limit(1))


def sessions(ctx: Context, user: User) -> list[dict[str, Any]]:
    """The active sign-ins, by their last use; at most `active_sessions.MAX_LISTED`."""
    found, _more = active_sessions.list_active(ctx, user.id, None)
    return [_session(each) for each in found]


def tokens(ctx: Context, user: User) -> list[dict[str, Any]]:
    """The active personal access tokens, the newest first."""
    return [_token(each) for each in list_personal(ctx, user.id)]


def factors(ctx: Context, user: User) -> list[dict[str, Any]]:
    """The authenticator app and the passkeys, the oldest first; never a secret or a key."""
    rows: list[tuple[str, str | None, UUID, datetime, datetime | None]] = [
        ("totp", None, row.id, row.created_at, row.used_at)
        for row in ctx.db.scalars(select(TotpFactor).where(TotpFactor.user_id == user.id))
    ]
    rows += [
        ("passkey", row.name, row.id, row.created_at, row.used_at)
        for row in ctx.db.scalars(select(Passkey).where(Passkey.user_id == user.id))
    ]
    return [
        {
            "id": str(id_),
            "kind": kind,
            "name": name,
            "created_at": clock.rfc3339(created),
            "last_used_at": clock.rfc3339(used) if used else None,
        }
        for kind, name, id_, created, used in sorted(rows, key=lambda row: (row[3], row[2]))
    ]


def limits(ctx: Context, user_id: UUID) -> list[dict[str, Any]]:
    """The counters of the user whose windows are running, with the seconds that are left."""
    now = clock.now()
    rows = export.list_counters(ctx, user_id)
    for row in rows:
        row["seconds"] = int((datetime.fromisoformat(row["expires_at"]) - now).total_seconds())
    return [row for row in rows if row["seconds"] > 0 and row["count"] > 0]


def locked_until(ctx: Context, user_id: UUID) -> datetime | None:
    """When the lockout ends that keeps the user from signing in; None without one.

    A browser or address of the user that is recognized is counted apart, and may still sign in.
    """
    now = clock.now()
    ends = [
        each.expires_at
        for each in export.stored_counters(ctx, user_id)
        if each.number > 0 and each.expires_at > now and delays.locks_login(each.key)
    ]
    return max(ends, default=None)


def mails(
    ctx: Context, by: Administrator, user: User, limit: int, text: str | None = None
) -> Page[OutboxMessage]:
    """Up to ``limit`` mails to the user in the last 30 days, the newest first.

    ``text``: the cursor. Raises `InvalidCursor`.
    """
    filters = {"list": "mails of a user", "user": user.id}
    last = after(ctx, by, filters, text)
    query = select(OutboxMessage).where(
        OutboxMessage.user_id == user.id, OutboxMessage.created_at > clock.now() - MAILS_OF
    )
    if last:
        place = datetime.fromisoformat(str(last[0])), UUID(str(last[1]))
        query = query.where(tuple_(OutboxMessage.created_at, OutboxMessage.id) < place)
    newest = OutboxMessage.created_at.desc(), OutboxMessage.id.desc()
    found: Sequence[OutboxMessage] = ctx.db.scalars(query.order_by(*newest).limit(limit + 1)).all()
    if len(found) <= limit:
        return Page(found, None)
    end = found[limit - 1]
    key = [end.created_at.isoformat(), str(end.id)]
    return Page(found[:limit], cursor(ctx, by, filters, key))


def _session(item: ActiveSession) -> dict[str, Any]:
    return {
        "id": str(item.id),
        "kind": item.kind,
        "client": item.client,
        "address": item.address,
        "agent": item.agent,
        "created": clock.rfc3339(item.created),
        "last_used": clock.rfc3339(item.last_used),
        "acr": acr_of(item.amr),
        "amr": list(shown_amr(item.amr)),
        "auth_time": int(item.auth_at.timestamp()) if item.auth_at else None,
        "tokens": [{"id": str(each.id), "name": each.name} for each in item.tokens],
    }


def _token(item: ListedToken) -> dict[str, Any]:
    return {
        "id": str(item.id),
        "name": item.name,
        "scope": item.scope,
        "created": clock.rfc3339(item.created),
        "expires": clock.rfc3339(item.expires),
        "last_used": clock.rfc3339(item.last_used) if item.last_used else None,
    }
