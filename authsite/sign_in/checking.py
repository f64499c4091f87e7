"""Check one proof: count it before, and record it if it is wrong."""

from collections.abc import Mapping

from authsite.platform.audit.events import Event
from authsite.platform.audit.service import record_apart
from authsite.platform.context import Context
from authsite.platform.rate_limit.recognized import Owner
from authsite.platform.runtime.counters import LOGINS
from authsite.sign_in.method import METHODS, Method, Pending, Target, Verified, Wrong

from .conditions import Denial
from .factors import notices as factor_notices


class Denied(Exception):
    """An account condition denies the account; see ``denial``."""

    def __init__(self, denial: Denial) -> None:
        super().__init__(denial)
        self.denial = denial


def method_of(ctx: Context, name: str) -> Method:
    """The method of this name."""
    return METHODS.of(ctx.services)[name]


def verify(
    ctx: Context,
    method: Method,
    given: Mapping[str, str],
    target: Target,
    pending: Pending | None = None,
) -> Verified | Wrong | None:
    """What the method says of ``given``. Raises the error of an account condition that denies."""
    try:
        return method.verify(ctx, target, given, pending)
    except Denied as error:
        raise error.denial.error from None


def check(
    ctx: Context,
    pending: Pending,
    method: str,
    given: Mapping[str, str],
    owner: Owner,
    counted: str | None = None,
) -> Verified | Wrong:
    """Check a further proof: counted for the ``owner`` before, and recorded if it is wrong.

    ``pending``: of a step-up one that is not stored, with the id of the session; then the caller
    calls the method's ``after``. ``counted``: as ``key`` of the limit. Raises as `sign_in`.
    """
    with ctx.limits.second_factor(owner, counted) as attempt:
        verified = verify(ctx, method_of(ctx, method), given, pending.target, pending)
        attempt.succeeded = isinstance(verified, Verified)
    if isinstance(verified, Verified):
        return verified
    wrong = verified or Wrong()
    record_apart(ctx, Event.FACTOR_FAILED, **pending.about(method, wrong))
    return wrong


def fail(ctx: Context, pending: Pending, wrong: Wrong, *, stored: bool = True) -> Wrong:
    """Count a login that a wrong further proof has failed, and tell its user; ``wrong`` again.

    ``stored``: whether the failure is in the row of the pending login.
    """
    LOGINS.add("failed")
    factor_notices.note_failure(ctx, pending.account, pending.amr, more=0 if stored else 1)
    return wrong
