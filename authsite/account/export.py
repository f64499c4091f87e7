"""Everything that is stored about a user, as plain values (GDPR, articles 15 and 20).

Never a password hash, a key, or what tokens and links are made of: the columns are listed here,
and a test compares them with the tables.
"""

import uuid
from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any

from sqlalchemy import ColumnElement, or_, select

from authsite import clock
from authsite.audit.events import Event
from authsite.audit.models import AuditEvent
from authsite.audit.service import record
from authsite.context import Context
from authsite.db.base import Base
from authsite.login.reauthentication import reauthenticate
from authsite.mail.models import OutboxMessage
from authsite.oauth.models import OAUTH, PERSONAL, Family
from authsite.rate_limit import delays, limit_subject
from authsite.rate_limit.limiter import counted_by, subject_hash, subject_key
from authsite.rate_limit.models import LimitCounter
from authsite.sessions.models import BrowserSession
from authsite.sign_in.models import PendingLogin
from authsite.users.account import SignedInUser
from authsite.users.errors import SignInEnded
from authsite.users.groups.models import GroupMember
from authsite.users.models import FormerAddress, LoginName, User, unchanged_since

BY_USER = "user"
"""In the event, who asked for the export; anything else is an administrator."""

USER = (
    "id email username phone name email_verified_at disabled_at created_at updated_at pending_email"
    " pending_expires_at pending_asked_at terms_url terms_accepted_at language links_ended_at"
    " labels origin"
)
_TOKENS = (
    "id client_id granted_scope scope created_at rotated_at used_at refresh_expires_at revoked_at"
    " revoked_why address agent facts auth_at recognized"
)
# Part of the export -> its table, the value of `kind` if the part has one, and the columns.
PARTS: Mapping[str, tuple[type[Base], str | None, str]] = {
    "login_names": (LoginName, None, "kind key"),
    "former_addresses": (
        FormerAddress,
        None,
        "id key email expires_at confirmed_at links_ended_at",
    ),
    "groups": (GroupMember, None, "group_name created_at"),
    "sign_ins_of_apps": (Family, OAUTH, _TOKENS),
    "sign_ins_of_browsers": (
        BrowserSession,
        None,
        "id remember created_at used_at expires_at address agent facts auth_at recognized",
    ),
    "pending_logins": (
        PendingLogin,
        None,
        "id client_id scope remember amr enroll recognized unrecognized next failures address agent"
        " created_at expires_at",
    ),
    "personal_access_tokens": (Family, PERSONAL, f"name {_TOKENS}"),
    "mails": (
        OutboxMessage,
        None,
        "id kind address about_id page_url base_url language from_address from_agent state"
        " created_at expires_at give_up_at next_attempt_at delivery_attempts last_error ended_at",
    ),
    "audit_events": (
        AuditEvent,
        None,
        "id at event client_id address agent request_id details",
    ),
}


def export_own(ctx: Context, user: SignedInUser, current_password: str) -> dict[str, Any]:
    """Everything that is stored about the signed-in user, ready for JSON.

    Raises what `reauthenticate` raises, `TooManyAttempts` over the limit ``export`` of the user,
    and `SignInEnded` if the user's epoch was raised since the request was accepted.
    """
    reauthenticate(ctx, user, current_password)
    account = user.account
    # After the password: a thief of a token cannot use up the owner's limit.
    ctx.limits.count("export", limit_subject(account.id))
    unchanged = unchanged_since(account.epoch)
    found = ctx.db.scalar(select(User).where(User.id == account.id, *unchanged))
    if found is None:
        raise SignInEnded
    return _export(ctx, found, {"by": BY_USER, "sign_in": str(user.sign_in)})


def export_as_administrator(ctx: Context, user: User) -> dict[str, Any]:
    """`export_own` for an administrator: without password and limit, also for a disabled user."""
    return _export(ctx, user, {"by": "administrator"})


def _export(ctx: Context, user: User, details: dict[str, str]) -> dict[str, Any]:
    """The parts; the export itself is recorded, with who asked for it."""
    found: dict[str, Any] = {
        "exported_at": clock.rfc3339(clock.now()),
        "user": _values(user, USER.split()),
    }
    for part, (model, kind, columns) in PARTS.items():
        found[part] = _rows(ctx, user.id, model, kind, columns.split())
    found["rate_limits"] = _counters(ctx, user.id, [row["key"] for row in found["login_names"]])
    record(ctx, Event.USER_EXPORTED, user_id=user.id, details=details)
    return found


def _rows(
    ctx: Context, user_id: uuid.UUID, model: Any, kind: str | None, columns: Sequence[str]
) -> list[dict[str, Any]]:
    query = select(model).where(model.user_id == user_id)
    if kind is not None:
        query = query.where(model.kind == kind)
    order = "created_at" if "created_at" in columns else model.__mapper__.primary_key[0].key
    rows = ctx.db.scalars(query.order_by(getattr(model, order)))
    return [_values(row, columns) for row in rows]


def _counters(ctx: Context, user_id: uuid.UUID, names: Sequence[str]) -> list[dict[str, Any]]:
    """The counters of the user alone. Their keys are hashes of the user's id and login names.

    Counters that combine these with an address are found only by someone who has that address.
    """
    subjects = (limit_subject(user_id), *names)
    if limiter := ctx.services.rate_limits:
        keys = [key for each in subjects for key in delays.keys_of(limiter, each)]
        mine: ColumnElement[bool] = LimitCounter.key.in_(keys)
    else:  # a command has no limiter, and may read the whole table
        key = subject_key(ctx.settings)
        hashes = [subject_hash(key, subject) for subject in subjects]
        mine = or_(*(LimitCounter.key.contains(hashed) for hashed in hashes))
    return [
        {"limit": counted_by(row.key), **_values(row, ["count", "expires_at"])}
        for row in ctx.db.scalars(select(LimitCounter).where(mine).order_by(LimitCounter.key))
    ]


def _values(row: Base, columns: Sequence[str]) -> dict[str, Any]:
    return {name: _plain(getattr(row, name)) for name in columns}


def _plain(value: Any) -> Any:
    if isinstance(value, datetime):
        return clock.rfc3339(value)
    return str(value) if isinstance(value, uuid.UUID) else value
