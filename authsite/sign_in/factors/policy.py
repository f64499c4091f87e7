"""The setting `second-factor`, and who may add a first factor."""

from collections.abc import Sequence
from datetime import UTC, datetime, time, timedelta
from typing import Final, NamedTuple

from sqlalchemy import bindparam, exists, func, select

from authsite.platform.context import Context
from authsite.platform.db import PreparedQuery
from authsite.platform.runtime import clock
from authsite.platform.settings import Settings
from authsite.platform.settings.rules import relying_party
from authsite.sign_in.method import METHODS, Pending, second_factors
from authsite.sign_in.methods.passkeys.stored import Passkey
from authsite.sign_in.methods.totp.models import TotpFactor
from authsite.users import identities
from authsite.users.account import AAL2, EMAIL, PASSWORD, REMEMBERED, Account, acr_of, reaches
from authsite.users.groups import labels
from authsite.users.groups.labels import is_reserved
from authsite.users.identities import Identity
from authsite.users.models import User

from .state import FactorState

RECOGNIZED_FOR_AT_LEAST = timedelta(days=7)
"""How long a browser must have been recognized before it may add a first factor without a code."""


def is_required(settings: Settings, now: datetime) -> bool:
    """Whether every user needs a second factor now."""
    if settings.second_factor != "required":
        return False
    start = settings.second_factor_from
    return start is None or now >= datetime.combine(start, time(), UTC)


def is_asked(settings: Settings, second_factor_at: datetime | None, now: datetime) -> bool:
    """Whether each sign-in of a user ends with a second factor: the user's wish, or everyone's.

    ``second_factor_at``: the column of the user.
    """
    return second_factor_at is not None or is_required(settings, now)


def is_met(settings: Settings, amr: tuple[str, ...], now: datetime) -> bool:
    """Whether a sign-in with this ``amr`` may go on, in a browser session or by a refresh.

    One in a remembered browser may: its second factor was given there before.
    """
    if not is_required(settings, now):
        return True
    return reaches(acr_of(amr), AAL2) or set(REMEMBERED) <= set(amr)


def may_enroll(
    account: Account, amr: tuple[str, ...], recognized: datetime | None, now: datetime
) -> bool:
    """Whether this sign-in may add a first factor without a mailed code.

    ``amr``: of a sign-in that was proved in the last minutes. ``recognized``: since when its
    browser has been recognized. A thief who knows the password alone must not add a factor: the
    browser must have been recognized for `RECOGNIZED_FOR_AT_LEAST`, all of it since the present
    address was confirmed. Members of reserved groups always need the code.
    """
    if set(EMAIL) <= set(amr):
        return True
    confirmed_at = account.email_verified_at
    if recognized is None or confirmed_at is None or is_administrator(account):
        return False
    return recognized >= confirmed_at and now - recognized >= RECOGNIZED_FOR_AT_LEAST


def is_administrator(account: Account) -> bool:
    """Whether the user is in a reserved group, at whatever level."""
    return any(map(is_reserved, labels.names(account.labels)))


# What the settings let users add, and the proof with which they add it.


class Proved(NamedTuple):
    """What a user has proved before a change of the factors: how (``amr``), and when."""

    amr: tuple[str, ...]
    at: datetime


def can_keep_secrets(settings: Settings) -> bool:
    """Whether authenticator apps and recovery codes can be made.

    In production that needs a `sealing-key`: one that the secret derives would be lost with it.
    """
    return bool(settings.sealing_key) or not settings.production


# The names of the ways to give a second proof, as in the setting `factors` and in the API.


TOTP: Final = "totp"
PASSKEY: Final = "passkey"
RECOVERY_CODE: Final = "recovery_code"
OF_THE_USER: Final = (TOTP, PASSKEY, RECOVERY_CODE)
"""Those of rows that belong to a user, which a recovery may remove."""
MAIL_CODE: Final = "email"
"""A code by mail: it proves the mailbox, and does not count as a second factor."""


# What a sign-in still needs: the one rule that the gate asks.


class Missing(NamedTuple):
    """One of ``methods``, or with ``enroll`` another factor; see `Pending`."""

    methods: tuple[str, ...] = ()
    enroll: bool = False


class SoFar(NamedTuple):
    """What is known of a sign-in: as of `Pending`."""

    amr: tuple[str, ...]
    factors: FactorState
    recognized: datetime | None = None
    unrecognized: bool = False


def find_missing(ctx: Context, account: Account | None, so_far: SoFar) -> Missing | None:
    """What the sign-in of this user still needs; None if it is complete.

    A second factor that is set is always asked for, whatever the setting `second-factor` says.
    ``account``: None where the name belongs to no user, who is asked for a code as everyone is.
    """
    amr, factors = so_far.amr, so_far.factors
    if not amr or account is None:
        return Missing((MAIL_CODE,))
    if reaches(acr_of(amr), AAL2):
        return None
    required = is_required(ctx.settings, clock.now())
    always = any(method.always for method in METHODS.of(ctx.services).values())
    if factors.second_factor_at or required or always:
        found = second_factors(ctx, account)
        if factors.removed:
            found = tuple(each for each in found if each.name not in OF_THE_USER)
        if factors.second_factor_at or (found and (required or any(each.always for each in found))):
            return Missing(tuple(each.name for each in found))
    if required:
        proved = may_enroll(account, amr, so_far.recognized, clock.now())
        return Missing(() if proved else (MAIL_CODE,), enroll=True)
    wants_code = ctx.settings.unrecognized_login == "code" and so_far.unrecognized
    return Missing((MAIL_CODE,)) if wants_code and amr == PASSWORD else None


def proves_mailbox(amr: tuple[str, ...]) -> bool:
    """Whether a mailed link or code is among the proofs."""
    return set(EMAIL) <= set(amr)


# Which second factor the page asks for first: the one that the user has used last.


class LastUsed(NamedTuple):
    """When the user has used, or else added, a factor of each kind."""

    totp: datetime | None
    passkey: datetime | None


LAST_USED = PreparedQuery(
    select(
        select(func.max(func.coalesce(TotpFactor.used_at, TotpFactor.created_at)))
        .where(TotpFactor.user_id == bindparam("user_id"))
        .scalar_subquery()
        .label(TOTP),
        select(func.max(func.coalesce(Passkey.used_at, Passkey.created_at)))
        .where(Passkey.user_id == bindparam("user_id"))
        .scalar_subquery()
        .label(PASSKEY),
    ),
    LastUsed,
)


def in_order(ctx: Context, pending: Pending) -> tuple[str, ...]:
    """The methods of the login, the one that was used last first, recovery codes at the end."""
    if len(pending.methods) <= 1 or pending.account is None:
        return pending.methods
    found = LAST_USED.one(ctx.database, user_id=pending.account.id) or LastUsed(None, None)
    moments = found._asdict()

    def place(name: str) -> tuple[bool, float]:
        moment = moments.get(name)
        return name == RECOVERY_CODE, -moment.timestamp() if moment else 0.0

    return tuple(sorted(pending.methods, key=place))


# The ways in which a user can begin a sign-in; a mailbox is none.


def can_sign_in(ctx: Context, user: User, linked: Sequence[Identity]) -> bool:
    """Whether the user has a password, an identity of ``linked`` or a passkey that can be used.

    A passkey that has not verified its user yet signs in beside another proof alone.

    Read in the request's transaction, after what is removed is gone from it.
    """
    if user.password_hash is not None or identities.usable(ctx.settings, linked):
        return True
    party = relying_party(ctx.settings)
    if party is None:
        return False
    usable = exists().where(
        Passkey.user_id == user.id, Passkey.rp_id == party.id, Passkey.uv_initialized
    )
    return bool(ctx.db.scalar(select(usable)))
