"""What all changes of second factors and passkeys have in common, whatever the factor is.

Each function works in the request's transaction, after the user has proved who they are. A change
first locks the row of the user (`lock`), so that concurrent ones follow each other: of two that
remove the last two factors at once, the second one finds that it removes the last one.
"""

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any, NamedTuple
from uuid import UUID

from sqlalchemy import ColumnElement, ScalarSelect, bindparam, exists, func, select
from sqlalchemy.orm import Session

from authsite.platform.audit.events import Event
from authsite.platform.audit.service import record
from authsite.platform.context import Context
from authsite.platform.db import PreparedQuery
from authsite.platform.runtime import clock
from authsite.sign_in.methods.passkeys.stored import Passkey
from authsite.sign_in.methods.recovery_codes import service as recovery_codes
from authsite.sign_in.methods.recovery_codes.service import Codes, RecoveryCode
from authsite.sign_in.methods.totp.models import TotpFactor
from authsite.users import identities
from authsite.users import service as users
from authsite.users.account import Account
from authsite.users.errors import SignInEnded
from authsite.users.models import User

from . import notices, policy, remembered, state
from .errors import FactorRequired, LastFactor, LastWayIn
from .policy import PASSKEY, TOTP, can_keep_secrets, can_sign_in

# What a user has of second factors, and what follows for the user when one was removed.


class Left(NamedTuple):
    """What a user has of factors: the app, and how many passkeys and unused recovery codes.

    Those count, too, that cannot be used at present.
    """

    totp: bool = False
    passkeys: int = 0
    recovery_codes: int = 0

    @property
    def has_factor(self) -> bool:
        """Whether there is a second factor or a passkey."""
        return self.totp or self.passkeys > 0


def _number(model: type[Any], *conditions: ColumnElement[bool]) -> ScalarSelect[int]:
    of_user = model.user_id == bindparam("user_id")
    return select(func.count()).select_from(model).where(of_user, *conditions).scalar_subquery()


_left = select(
    exists().where(TotpFactor.user_id == bindparam("user_id")).label("totp"),
    _number(Passkey).label("passkeys"),
    _number(RecoveryCode, RecoveryCode.used_at.is_(None)).label("recovery_codes"),
)
LEFT = PreparedQuery(_left, Left)


def find(db: Session, user_id: UUID) -> Left:
    """What the user has, read in the transaction of ``db``."""
    return Left(*db.execute(_left, {"user_id": user_id}).one())


def has_factor(ctx: Context, user_id: UUID) -> bool:
    """Whether the user has a second factor or a passkey; read outside any transaction."""
    found = LEFT.one(ctx.database, user_id=user_id)
    return found is not None and found.has_factor


def after_removal(user: User, left: Left) -> Mapping[str, Any]:
    """The columns of the user after factors were removed.

    The user's choice for passkeys stays as long as there is a factor.
    """
    if not left.has_factor:
        return {"second_factor_at": None, "factors_since": None, "passkey_after_password": False}
    asked = left.totp or user.passkey_after_password
    return {"second_factor_at": user.second_factor_at if asked else None}


AFTER_PASSWORD = "after_password"
"""In the audit trail the kind of the switch for passkeys, which has no row."""


class Totp(NamedTuple):
    """The authenticator app of a user."""

    id: UUID
    created_at: datetime
    used_at: datetime | None


class OwnPasskey(NamedTuple):
    """A passkey of a user. ``synced``: it may be copied to other devices of the user."""

    id: UUID
    name: str
    created_at: datetime
    used_at: datetime | None
    synced: bool


class Overview(NamedTuple):
    """The factors of a user.

    ``second_factor``: whether one is asked for after the password; ``after_password``: the user's
    switch for passkeys; ``codes``: the recovery codes.
    """

    second_factor: bool
    after_password: bool
    totp: Totp | None
    passkeys: Sequence[OwnPasskey]
    codes: Codes | None
    remembered_browsers: int


class Added(NamedTuple):
    """What adding a factor led to.

    ``recovery_codes``: if they were made, as they are shown, once. ``first``: the user had neither
    a second factor nor a passkey before.
    """

    recovery_codes: tuple[str, ...] | None
    first: bool


def overview(ctx: Context, user_id: UUID) -> Overview:
    """The factors of a user, the newest passkey last.

    Raises `SignInEnded` if the user is gone.
    """
    query = select(User.second_factor_at, User.passkey_after_password).where(User.id == user_id)
    switches = ctx.db.execute(query).one_or_none()
    if switches is None:
        raise SignInEnded
    second_factor_at, after_password = switches
    totp = ctx.db.execute(
        select(TotpFactor.id, TotpFactor.created_at, TotpFactor.used_at).where(
            TotpFactor.user_id == user_id
        )
    ).one_or_none()
    passkeys = ctx.db.execute(
        select(
            Passkey.id, Passkey.name, Passkey.created_at, Passkey.used_at, Passkey.backup_eligible
        )
        .where(Passkey.user_id == user_id)
        .order_by(Passkey.created_at, Passkey.id)
    ).all()
    return Overview(
        second_factor_at is not None,
        after_password,
        Totp(*totp) if totp else None,
        [OwnPasskey(*each) for each in passkeys],
        recovery_codes.find(ctx, user_id),
        remembered.count(ctx, user_id),
    )


def lock(ctx: Context, account: Account) -> User:
    """Lock the row of the user before the first write of a change.

    Raises `SignInEnded` if the user has changed since ``account`` was read.
    """
    user = users.lock_unchanged(ctx.db, account.id, account.epoch)
    if user is None:
        raise SignInEnded
    return user


def added(
    ctx: Context,
    account: Account,
    kind: str,
    id: UUID,
    session_id: UUID | None,
    *,
    replaced: bool = False,
) -> Added:
    """A factor or passkey was inserted: ``kind`` is its name, ``id`` that of its row.

    ``session_id``: the sign-in that added it; None at a sign-in that must add one. ``replaced``: it
    took the place of one of its kind. Pending logins and remembered browsers of the user end. To
    end the other sign-ins after a first factor is left to the caller.
    """
    now, left = clock.now(), find(ctx.db, account.id)
    first = not replaced and left.totp + left.passkeys == 1
    user = lock(ctx, account)
    values: dict[str, Any] = {"factors_since": user.factors_since or now}
    if kind == TOTP or user.passkey_after_password:
        values["second_factor_at"] = user.second_factor_at or now
    state.change(ctx, account.id, values)
    _record(ctx, Event.FACTOR_ADDED, account, kind, id, session_id)
    makes_codes = first and can_keep_secrets(ctx.settings)
    codes = recovery_codes.create(ctx, account.id) if makes_codes else None
    notices.changed(
        ctx, account, "passkey_added" if kind == PASSKEY else "factor_added", session_id, at=now
    )
    return Added(codes, first)


def removed(ctx: Context, account: Account, kind: str, id: UUID, session_id: UUID | None) -> None:
    """A factor or passkey was deleted by its user, in this transaction.

    With the last one the recovery codes end. Raises `LastFactor` where the policy requires one, and
    `LastWayIn` where the user could not sign in any more; both roll the deletion back.
    """
    user, left = lock(ctx, account), find(ctx.db, account.id)
    is_last = not left.has_factor
    if is_last and policy.is_required(ctx.settings, clock.now()):
        raise LastFactor
    if kind == PASSKEY and not can_sign_in(ctx, user, identities.list_of(ctx, user.id)):
        raise LastWayIn
    state.change(ctx, account.id, after_removal(user, left))
    if is_last:
        recovery_codes.end_all(ctx, account.id)
    _record(ctx, Event.FACTOR_REMOVED, account, kind, id, session_id)
    notices.changed(
        ctx, account, "passkey_removed" if kind == PASSKEY else "factor_removed", session_id
    )


def new_codes(ctx: Context, account: Account, session_id: UUID | None) -> tuple[str, ...]:
    """A new set of recovery codes, which ends the former one.

    Raises `FactorRequired` for a user who has neither a second factor nor a passkey.
    """
    lock(ctx, account)
    _require_factor(ctx, account)
    state.change(ctx, account.id, {})
    made = recovery_codes.create(ctx, account.id)
    notices.changed(ctx, account, "recovery_codes_created", session_id)
    return made


def set_after_password(
    ctx: Context, account: Account, wanted: bool, session_id: UUID | None
) -> None:
    """Whether a passkey of the user is asked for after the password, too.

    It is recorded and told as the change of a factor: without it, the password may be enough.
    ``session_id``: the sign-in that changes it. Raises `FactorRequired` for a user who has neither
    a second factor nor a passkey.
    """
    user, left = lock(ctx, account), _require_factor(ctx, account)
    if user.passkey_after_password == wanted:
        return
    asked = left.totp or (wanted and left.passkeys)
    since = (user.second_factor_at or clock.now()) if asked else None
    state.change(ctx, account.id, {"passkey_after_password": wanted, "second_factor_at": since})
    event = Event.FACTOR_ADDED if wanted else Event.FACTOR_REMOVED
    _record(ctx, event, account, AFTER_PASSWORD, None, session_id)
    notices.changed(ctx, account, "passkey_asked" if wanted else "passkey_not_asked", session_id)


def _require_factor(ctx: Context, account: Account) -> Left:
    left = find(ctx.db, account.id)
    if not left.has_factor:
        raise FactorRequired
    return left


def _record(
    ctx: Context,
    event: Event,
    account: Account,
    kind: str,
    id: UUID | None,
    session_id: UUID | None,
) -> None:
    details = {"kind": kind}
    if id:
        details["factor"] = str(id)
    if session_id:
        details["session"] = str(session_id)
    record(ctx, event, user_id=account.id, details=details)
