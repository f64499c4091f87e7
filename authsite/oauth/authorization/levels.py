"""The levels that ``acr_values`` can ask for, and which ways to sign in give them.

Today every way to sign in gives the lowest level; a registered method whose ``amr`` has one of the
values below gives a higher one.
"""

from collections.abc import Iterable

from authsite.context import Context
from authsite.sign_in.method import METHODS

LEVELS = ("aal1", "aal2", "phr")  # from the lowest to the highest
_GIVES = {"otp": "aal2", "recovery": "aal2", "pop": "phr"}


def wanted(acr_values: Iterable[str]) -> str:
    """The lowest of the known levels, which is enough; the lowest of all if none is known."""
    known = [LEVELS.index(each) for each in acr_values if each in LEVELS]
    return LEVELS[min(known, default=0)]


def level_of(amr: Iterable[str]) -> str:
    """The level of a sign-in."""
    return max((_GIVES.get(each, LEVELS[0]) for each in amr), key=LEVELS.index, default=LEVELS[0])


def is_enough(amr: Iterable[str], acr_values: Iterable[str]) -> bool:
    """Whether a sign-in has the level that is asked for."""
    return LEVELS.index(level_of(amr)) >= LEVELS.index(wanted(acr_values))


def is_reachable(acr_values: Iterable[str], ctx: Context) -> bool:
    """Whether a registered way to sign in gives the level that is asked for."""
    methods = METHODS.of(ctx.services).values()
    return is_enough((each for method in methods for each in method.amr), acr_values)
