"""What the recovery of an account does to its second factors and passkeys.

A recovery is what its mailbox can do: a reset, taking a change of address back, "This was not me".
An administrator who sets a password is one, too. The mailbox of the user is not to open an account
with a second factor, and a factor that an intruder has just added is neither to lock its user out
nor to stay a way in. So the time since which the account has had one decides
(`User.factors_since`), and then that of each: see `LONG_ENOUGH`.

The factors of administrators change by a proof or a command alone.
"""

from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import Any, NamedTuple
from uuid import UUID

from sqlalchemy import delete, exists, select

from authsite.platform.audit.events import Event
from authsite.platform.audit.service import Cause, record
from authsite.platform.context import Context
from authsite.platform.mail.outbox import Recipient
from authsite.platform.runtime import clock
from authsite.sign_in.methods.passkeys.stored import Passkey
from authsite.sign_in.methods.recovery_codes.service import RecoveryCode
from authsite.sign_in.methods.totp.models import TotpFactor
from authsite.users.account import account_of
from authsite.users.models import User

from . import notices, policy, remembered, state
from . import service as left_factors
from .policy import PASSKEY, TOTP
from .service import Left

LONG_ENOUGH = timedelta(days=7)
"""A recovery removes what is younger, as long as something older is left that asks for a proof."""
_MICROSECOND = timedelta(microseconds=1)
_KINDS: tuple[tuple[str, type[Any]], ...] = ((TOTP, TotpFactor), (PASSKEY, Passkey))


class Named(NamedTuple):
    """The sign-in that a link "This was not me" names, or the change and its sign-in.

    ``since``: when the sign-in began. ``at``: when the sign-in or the change took place, which is
    when the link was mailed.
    """

    session_id: UUID | None
    since: datetime
    at: datetime


def after_recovery(ctx: Context, user_id: UUID) -> None:
    """Take back what an intruder may have added; registered `at_recovery`.

    Pending logins and remembered browsers end. All factors and recovery codes go where the account
    has had one for less than `LONG_ENOUGH`. Else those go that are younger, while an older factor
    stays; where none is older they stay, and are asked for, so that a reader of the mailbox gains
    nothing.
    """
    user = ctx.db.get_one(User, user_id, populate_existing=True)
    since = user.factors_since
    values: dict[str, Any] = {}
    if since is not None and not _is_administrator(user):
        if clock.now() - since < LONG_ENOUGH:
            _remove(ctx, user_id, None)
            values = dict(left_factors.after_removal(user, Left()))
        else:
            values = _without_young(ctx, user)
    _store(ctx, user_id, **values)


def _without_young(ctx: Context, user: User) -> dict[str, Any]:
    """Remove the young factors of an account that has had one for long; the columns of the user."""
    old_until = clock.now() - LONG_ENOUGH
    ages = [
        created_at <= old_until
        for _kind, model in _KINDS
        for created_at in ctx.db.scalars(select(model.created_at).where(model.user_id == user.id))
    ]
    if not any(ages):
        return _asked_for(ctx, user) if ages else {}
    _remove(ctx, user.id, old_until + _MICROSECOND)
    if all(ages):
        return {}
    asked_since = user.second_factor_at
    if asked_since is not None and asked_since <= old_until:
        return _asked_for(ctx, user)  # by what is left, as before
    return dict(left_factors.after_removal(user, left_factors.find(ctx.db, user.id)))


def _asked_for(ctx: Context, user: User) -> dict[str, Any]:
    """The columns of a user who goes on being asked for a second factor."""
    left = left_factors.find(ctx.db, user.id)
    return {
        "second_factor_at": user.second_factor_at or clock.now(),
        "passkey_after_password": bool(left.passkeys)
        and (user.passkey_after_password or not left.totp),
    }


def disown(ctx: Context, user: User, factors_since: datetime | None, named: Named) -> None:
    """What "This was not me" does beyond `after_recovery`, which has run.

    What was added since the sign-in goes. ``factors_since``: the user's before the recovery. Where
    it was set before the sign-in or change, a second factor goes on being asked for; where none is
    left, a recovery code or the support helps. So it does where a link did this before.
    """
    values: dict[str, Any] = {}
    waits = factors_since is None and user.second_factor_at is not None
    if not _is_administrator(user):
        _remove(ctx, user.id, named.since)
        values = dict(left_factors.after_removal(user, left_factors.find(ctx.db, user.id)))
    if waits or (factors_since is not None and factors_since < named.at):
        values |= _asked_for(ctx, user)
    _store(ctx, user.id, **values)


def end_waiting(ctx: Context, user_id: UUID) -> None:
    """Ask for no factor any more, where none is left: the user has just given a recovery code."""
    none_left = [~exists().where(model.user_id == User.id) for _, model in _KINDS]
    state.change(
        ctx, user_id, {"second_factor_at": None}, User.second_factor_at.is_not(None), *none_left
    )


def reset(ctx: Context, user: User, cause: Cause) -> Left:
    """Remove all factors and recovery codes, as an administrator; returns what there was.

    All sign-ins must end, too, which the caller does. The user gets a notice.
    """
    left = left_factors.find(ctx.db, user.id)
    for model in (TotpFactor, Passkey, RecoveryCode):
        ctx.db.execute(delete(model).where(model.user_id == user.id))
    _store(
        ctx,
        user.id,
        second_factor_at=None,
        factors_since=None,
        passkey_after_password=False,
    )
    record(ctx, Event.FACTOR_RESET, user_id=user.id, details=cause.details())
    if user.email_verified_at is not None:
        notices.send_reset(ctx, Recipient(user.id, user.email))
    return left


def remove_one(ctx: Context, user: User, factor_id: UUID, cause: Cause) -> bool:
    """Remove one factor or passkey, as an administrator; whether the user had it.

    With the last one the recovery codes end. The caller tells the user.
    """
    for kind, model in _KINDS:
        removed = ctx.db.scalar(
            delete(model)
            .where(model.user_id == user.id, model.id == factor_id)
            .returning(model.id)
            .execution_options(synchronize_session="fetch")
        )
        if removed is None:
            continue
        left = left_factors.find(ctx.db, user.id)
        if not left.has_factor:
            _delete(ctx, RecoveryCode, user.id, None)
        _store(ctx, user.id, **left_factors.after_removal(user, left))
        details = cause.details(kind=kind, factor=str(factor_id))
        record(ctx, Event.FACTOR_REMOVED, user_id=user.id, details=details)
        return True
    return False


def _remove(ctx: Context, user_id: UUID, since: datetime | None) -> None:
    """Delete the factors and recovery codes that were added ``since``; None: all."""
    for kind, model in _KINDS:
        for id_ in _delete(ctx, model, user_id, since):
            details = {"kind": kind, "factor": str(id_)}
            record(ctx, Event.FACTOR_REMOVED, user_id=user_id, details=details)
    _delete(ctx, RecoveryCode, user_id, since)


def _delete(
    ctx: Context, model: type[Any], user_id: UUID, since: datetime | None
) -> Sequence[UUID]:
    added = [] if since is None else [model.created_at >= since]
    deleted = (
        delete(model)
        .where(model.user_id == user_id, *added)
        .returning(model.id)
        .execution_options(synchronize_session="fetch")
    )
    return ctx.db.scalars(deleted).all()


def _store(ctx: Context, user_id: UUID, **values: Any) -> None:
    """End what was remembered and is pending, and write columns of the user."""
    state.change(ctx, user_id, values)  # which ends pending logins
    remembered.forget_all(ctx, user_id)


def _is_administrator(user: User) -> bool:
    return policy.is_administrator(account_of(user))
