"""The levels that ``acr_values`` can ask for, and which ways to sign in give them."""

from collections.abc import Iterable

from authsite.platform.context import Context
from authsite.sign_in.factors.names import PASSKEY, RECOVERY_CODE, TOTP
from authsite.sign_in.method import METHODS
from authsite.sign_in.methods.passkeys.registration import can_add
from authsite.sign_in.methods.totp.enrollment import is_offered
from authsite.users.levels import LEVELS, PASSWORD, acr_of, reaches


def wanted(acr_values: Iterable[str]) -> str:
    """The lowest of the known levels, which is enough; the lowest of all if none is known."""
    known = [LEVELS.index(each) for each in acr_values if each in LEVELS]
    return LEVELS[min(known, default=0)]


def is_enough(amr: tuple[str, ...], acr_values: Iterable[str]) -> bool:
    """Whether a sign-in has the level that is asked for."""
    return reaches(acr_of(amr), wanted(acr_values))


def is_reachable(acr_values: Iterable[str], ctx: Context) -> bool:
    """Whether a way to sign in, after a password, gives the level that is asked for.

    Of the second factors only those count that users can add.
    """
    can_be_added = {PASSKEY: can_add(ctx), TOTP: is_offered(ctx), RECOVERY_CODE: False}
    methods = METHODS.of(ctx.services).values()
    usable = [each for each in methods if can_be_added.get(each.name, True)]
    return any(is_enough((*PASSWORD, *method.amr), acr_values) for method in usable)
