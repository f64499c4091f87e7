"""What belongs to one user, as plain values: for API and pages."""

from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import Any
from uuid import UUID

from sqlalchemy import select, tuple_

from authsite.account import service
from authsite.account import sessions as account_sessions
from authsite.account.sessions import ActiveSession
from authsite.admin.errors import Outranked, PermissionMissing, UnknownObject
from authsite.admin.guard import Administrator, require_rank, reserved_groups, scopes_of
from authsite.admin.lists import Page, after, cursor
from authsite.oauth.tokens.families import ListedToken, list_personal
from authsite.platform.audit.events import Event
from authsite.platform.audit.models import AuditEvent
from authsite.platform.context import Context
from authsite.platform.mail.outbox import OutboxMessage
from authsite.platform.rate_limit import caller_limits
from authsite.platform.runtime import clock
from authsite.platform.runtime.ids import as_id
from authsite.sign_in.methods.passkeys.stored import Passkey
from authsite.sign_in.methods.totp.models import TotpFactor
from authsite.users.account import acr_of, shown_amr
from authsite.users.groups.labels import OWNER
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
    """The active sign-ins, by their last use; at most `MAX_SESSIONS` of `account/sessions.py`."""
    found, _more = account_sessions.list_active(ctx, user.id, None)
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
    rows = service.list_counters(ctx, user_id)
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
        for each in service.stored_counters(ctx, user_id)
        if each.number > 0 and each.expires_at > now and caller_limits.locks_login(each.key)
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


# The user at whom an administrator acts.


def find(ctx: Context, text: str) -> User:
    """The user with this id. Raises `UnknownObject`."""
    id_ = as_id(text.lower())
    user = ctx.db.get(User, id_) if id_ else None
    if user is None:
        raise UnknownObject
    return user


def reach(ctx: Context, by: Administrator, text: str) -> User:
    """The user with this id, at whom ``by`` may act. Raises `UnknownObject` and `Outranked`."""
    found = find(ctx, text)
    require_rank(by, found)
    return found


def lock(ctx: Context, by: Administrator, user: User) -> User:
    """The present row of the user, locked until the transaction ends, at whom ``by`` may act.

    Raises `UnknownObject` for a user who is gone, `Outranked`, and `PermissionMissing` for an
    administrator who has lost a permission while the request waited for the lock.
    """
    found = ctx.db.scalar(
        select(User)
        .where(User.id == user.id)
        .with_for_update(key_share=True)
        .execution_options(populate_existing=True)
    )
    if found is None:
        raise UnknownObject
    require_rank(by, found)
    _require_role(ctx, by)
    return found


def _require_role(ctx: Context, by: Administrator) -> None:
    """Raise `PermissionMissing` unless ``by`` still has the permissions that the request has.

    Their row is not locked: two administrators who act at each other would wait for one another.
    """
    if by.kind != "user":
        return
    present = scopes_of(reserved_groups(_labels(ctx, by.id)))
    if lost := by.scopes - present:
        raise PermissionMissing(min(lost))


def require_command_for_administrators(by: Administrator, user: User) -> None:
    """Raise `Outranked` at a member of a reserved group, unless ``by`` is a command."""
    if by.kind != "command" and reserved_groups(user.labels):
        raise Outranked


def require_person(by: Administrator, permission: str) -> None:
    """Raise `PermissionMissing` for a client: it never does this, whatever its scopes are."""
    if by.kind == "client":
        raise PermissionMissing(f"admin:{permission}")


def is_owner(ctx: Context, by: Administrator) -> bool:
    """Whether ``by`` is a command or a member of ``authsite:owner``."""
    if by.kind != "user":
        return by.kind == "command"
    return OWNER in reserved_groups(_labels(ctx, by.id))


def _labels(ctx: Context, user_id: UUID | None) -> str | None:
    return ctx.db.scalar(select(User.labels).where(User.id == user_id, User.disabled_at.is_(None)))
