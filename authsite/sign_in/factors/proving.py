"""A second proof of a user who is signed in already."""

from collections.abc import Mapping

from authsite.context import Context
from authsite.platform.audit.events import Event
from authsite.platform.audit.service import record_apart
from authsite.sign_in.credentials import owner_of_user
from authsite.sign_in.gate import Denied
from authsite.sign_in.method import METHODS, Pending, Verified, Wrong
from authsite.users.account import Account


def prove(
    ctx: Context, pending: Pending, account: Account, method: str, given: Mapping[str, str]
) -> Verified | Wrong:
    """Check a second proof of ``account``, counted and recorded as that of a pending login.

    ``pending``: one that is not stored, with the user and the id of the session; nothing becomes of
    it, and nothing is written: the caller calls the method's ``after``. Raises the error of an
    account condition, and what the method raises.
    """
    way = METHODS.of(ctx.services)[method]
    owner = owner_of_user(account.id, pending.recognition_version)
    try:
        with ctx.limits.second_factor(owner) as attempt:
            verified = way.verify(ctx, pending.target, given, pending)
            attempt.succeeded = isinstance(verified, Verified)
    except Denied as error:
        raise error.denial.error from None
    if not isinstance(verified, Verified):
        wrong = verified or Wrong()
        record_apart(ctx, Event.FACTOR_FAILED, **pending.about(method, wrong.code))
        return wrong
    return verified
