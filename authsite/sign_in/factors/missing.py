"""What a sign-in still needs: the one rule that the gate asks."""

from datetime import datetime
from typing import NamedTuple

from authsite.platform.context import Context
from authsite.platform.runtime import clock
from authsite.sign_in.method import METHODS, second_factors
from authsite.users.account import Account
from authsite.users.levels import AAL2, EMAIL, PASSWORD, acr_of, reaches

from . import policy
from .names import MAIL_CODE, OF_THE_USER
from .state import FactorState


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
    required = policy.is_required(ctx.settings, clock.now())
    always = any(method.always for method in METHODS.of(ctx.services).values())
    if factors.second_factor_at or required or always:
        found = second_factors(ctx, account)
        if factors.removed:
            found = tuple(each for each in found if each.name not in OF_THE_USER)
        if factors.second_factor_at or (found and (required or any(each.always for each in found))):
            return Missing(tuple(each.name for each in found))
    if required:
        proved = policy.may_enroll(account, amr, so_far.recognized, clock.now())
        return Missing(() if proved else (MAIL_CODE,), enroll=True)
    wants_code = ctx.settings.unrecognized_login == "code" and so_far.unrecognized
    return Missing((MAIL_CODE,)) if wants_code and amr == PASSWORD else None


def proves_mailbox(amr: tuple[str, ...]) -> bool:
    """Whether a mailed link or code is among the proofs."""
    return set(EMAIL) <= set(amr)
