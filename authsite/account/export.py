"""Everything that is stored about a user, as plain values (GDPR, articles 15 and 20).

Packages register their tables and columns (`authsite.platform.user_data`).
"""

import uuid
from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any

from sqlalchemy import select

from authsite.platform.audit.cause import Cause, details_of
from authsite.platform.audit.events import Event
from authsite.platform.audit.models import Detail
from authsite.platform.audit.service import record
from authsite.platform.context import Context
from authsite.platform.db.base import Base
from authsite.platform.rate_limit import limit_subject, running_counters
from authsite.platform.rate_limit.limiter import counted_by
from authsite.platform.runtime import clock
from authsite.platform.user_data import USER_DATA, UserData
from authsite.sign_in.reauthentication import ProofFields, require_proof
from authsite.users.account import SignedInUser
from authsite.users.errors import SignInEnded
from authsite.users.models import LoginName, User, unchanged_since

BY_USER = "user"
"""In the event, who asked for the export; anything else is an administrator."""


def export_own(ctx: Context, user: SignedInUser, given: ProofFields) -> dict[str, Any]:
    """Everything that is stored about the signed-in user, ready for JSON.

    Raises what `require_proof` raises, `TooManyAttempts` over the limit ``export`` of the user,
    and `SignInEnded` if the user's epoch was raised since the request was accepted.
    """
    account = user.account
    # After the password: a thief of a token cannot use up the owner's limit.
    require_proof(
        ctx,
        user,
        given,
        before_writing=lambda: ctx.limits.count("export", limit_subject(account.id)),
    )
    unchanged = unchanged_since(account.epoch)
    found = ctx.db.scalar(select(User).where(User.id == account.id, *unchanged))
    if found is None:
        raise SignInEnded
    return _export(ctx, found, {"by": BY_USER, "session": str(user.session_id)})


def export_as_administrator(ctx: Context, user: User, cause: Cause | None = None) -> dict[str, Any]:
    """`export_own` for an administrator: without password and limit, also for a disabled user."""
    return _export(ctx, user, details_of(cause, by="administrator"))


def _export(ctx: Context, user: User, details: Mapping[str, Detail] | None) -> dict[str, Any]:
    """The parts; the export itself is recorded, with who asked for it."""
    found: dict[str, Any] = {"exported_at": clock.rfc3339(clock.now())}
    for part in USER_DATA.of(ctx.services).values():
        if part.rows is not None:
            found[part.name] = part.rows(ctx, user.id)
        elif part.columns:
            found[part.name] = _rows(ctx, user.id, part)
    record(ctx, Event.USER_EXPORTED, user_id=user.id, details=details)
    return found


def _rows(ctx: Context, user_id: uuid.UUID, part: UserData) -> Any:
    """The user's rows of a part; one object if there can be only one."""
    model: Any = part.model
    query = select(model).where(getattr(model, part.user) == user_id)
    if part.where is not None:
        query = query.where(part.where)
    columns, keys = part.columns.split(), [each.key for each in model.__mapper__.primary_key]
    order = "created_at" if "created_at" in columns else keys[0]
    rows = [_values(row, columns) for row in ctx.db.scalars(query.order_by(getattr(model, order)))]
    return rows[0] if keys == [part.user] else rows


def list_counters(ctx: Context, user_id: uuid.UUID) -> list[dict[str, Any]]:
    """The counters of the user alone. Their keys are hashes of the user's id and login names.

    Counters that combine these with an address are found only by someone who has that address.
    """
    return [
        {"limit": counted_by(key), "count": count, "expires_at": clock.rfc3339(expires_at)}
        for key, count, expires_at in stored_counters(ctx, user_id)
    ]


def stored_counters(ctx: Context, user_id: uuid.UUID) -> Sequence[running_counters.Running]:
    """`list_counters` as they are stored."""
    return running_counters.find(ctx, _subjects(ctx, user_id))


def end_counters(ctx: Context, user_id: uuid.UUID) -> int:
    """End the counters of `list_counters`; how many there were."""
    return running_counters.end(ctx, _subjects(ctx, user_id))


def _subjects(ctx: Context, user_id: uuid.UUID) -> tuple[str, ...]:
    """What the limits count of the user alone."""
    names = ctx.db.scalars(select(LoginName.key).where(LoginName.user_id == user_id))
    return (limit_subject(user_id), *names)


def _values(row: Base, columns: Sequence[str]) -> dict[str, Any]:
    return {name: _plain(getattr(row, name)) for name in columns}


def _plain(value: Any) -> Any:
    if isinstance(value, datetime):
        return clock.rfc3339(value)
    return str(value) if isinstance(value, uuid.UUID) else value
