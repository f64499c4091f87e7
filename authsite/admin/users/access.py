"""What administrators do with the access to an account: sign-ins, tokens, factors, limits, data.

As in `actions`, each function locks the user, and raises `Outranked`, `UnknownObject` and
`ValidationFailed` for a wrong reason.
"""

from typing import Any
from uuid import UUID

from authsite.account import active_sessions, export
from authsite.admin import reasons
from authsite.admin.administrator import Administrator
from authsite.admin.errors import UnknownObject
from authsite.admin.rank import require_rank
from authsite.oauth import active_personal_tokens
from authsite.oauth.listed import list_personal
from authsite.oauth.personal import service as personal_tokens
from authsite.platform.audit.events import Event
from authsite.platform.audit.service import record
from authsite.platform.context import Context
from authsite.sign_in.factors import recovering, remembered
from authsite.sign_in.factors.left import Left
from authsite.users import service as users
from authsite.users.models import User

from . import mails, subject


def end_session(
    ctx: Context, by: Administrator, user: User, session_id: UUID, reason: str | None = None
) -> User:
    """End one sign-in of the user, with the personal access tokens that were created in it.

    Raises `UnknownObject` where the user has no such sign-in.
    """
    found = subject.lock(ctx, by, user)
    cause = reasons.cause(by, reason)
    if not active_sessions.end(ctx, found.id, session_id, None, cause=cause):
        raise UnknownObject
    return found


def revoke_token(
    ctx: Context, by: Administrator, user: User, token_id: UUID, reason: str | None = None
) -> User:
    """Revoke one personal access token. Raises `UnknownObject` where the user has none like it."""
    found = subject.lock(ctx, by, user)
    cause = reasons.cause(by, reason)
    if not personal_tokens.revoke(ctx, found.id, token_id, cause):
        raise UnknownObject
    mails.send(ctx, "tokens_revoked", found)
    return found


def revoke_tokens(ctx: Context, by: Administrator, user: User, reason: str | None = None) -> User:
    """Revoke all personal access tokens."""
    found = subject.lock(ctx, by, user)
    cause = reasons.cause(by, reason)
    listed = list_personal(ctx, found.id)
    active_personal_tokens.end_all(ctx, found.id, "revoked by an administrator", cause)
    if listed:
        mails.send(ctx, "tokens_revoked", found)
    return found


def reset_factors(ctx: Context, by: Administrator, user: User, reason: str | None) -> Left:
    """Remove all second factors, passkeys and recovery codes; all sign-ins end.

    Returns what there was. Of members of reserved groups by a command alone, and never by a client.
    """
    found = subject.lock(ctx, by, user)
    require_factors(by, found)
    cause = reasons.cause(by, reason, required=True)
    removed = recovering.reset(ctx, found, cause)
    users.end_sign_ins(ctx, found.id)
    return removed


def remove_factor(
    ctx: Context, by: Administrator, user: User, factor_id: UUID, reason: str | None = None
) -> User:
    """Remove one second factor or passkey, as `reset_factors` removes all; no sign-in ends.

    Raises `UnknownObject` where the user has none like it.
    """
    found = subject.lock(ctx, by, user)
    require_factors(by, found)
    cause = reasons.cause(by, reason)
    if not recovering.remove_one(ctx, found, factor_id, cause):
        raise UnknownObject
    mails.send(ctx, "factor_taken", found)
    return found


def require_factors(by: Administrator, user: User) -> None:
    """Raise `PermissionMissing` or `Outranked` unless ``by`` may take factors from the user."""
    subject.require_person(by, "factors:write")
    require_rank(by, user)
    subject.require_command_for_administrators(by, user)


def forget_browsers(ctx: Context, by: Administrator, user: User, reason: str | None = None) -> User:
    """Ask for the second factor again in every browser that was remembered."""
    subject.require_person(by, "factors:write")
    found = subject.lock(ctx, by, user)
    cause = reasons.cause(by, reason)
    if remembered.count(ctx, found.id):
        remembered.forget_all(ctx, found.id)
        record(ctx, Event.BROWSER_FORGOTTEN, user_id=found.id, details=cause.details())
    return found


def lift_limits(ctx: Context, by: Administrator, user: User, reason: str | None) -> int:
    """End the lockouts of the user and the counts of attempts; returns how many counts ended.

    Those of a recognized browser or address, which are counted apart, end by themselves.
    """
    found = subject.lock(ctx, by, user)
    cause = reasons.cause(by, reason, required=True)
    lifted = export.end_counters(ctx, found.id)
    if lifted:
        details = cause.details(lifted=str(lifted))
        record(ctx, Event.LIMIT_LIFTED, user_id=found.id, details=details)
    return lifted


def count_export(ctx: Context, by: Administrator) -> None:
    """Count an export by ``by``, once in a request.

    A view calls it before the transaction reads or writes. Raises `TooManyAttempts` over the limit
    ``admin-export`` of the caller.
    """
    ctx.limits.count("admin-export", by.limit_subject)


def export_data(
    ctx: Context, by: Administrator, user: User, reason: str | None = None
) -> dict[str, Any]:
    """Everything that is stored about the user, ready for JSON. Never for a client.

    Count it first (`count_export`).
    """
    subject.require_person(by, "exports:read")
    count_export(ctx, by)
    found = subject.lock(ctx, by, user)
    cause = reasons.cause(by, reason)
    return export.export_as_administrator(ctx, found, cause)
