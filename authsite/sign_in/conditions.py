"""Account conditions: what an account must fulfil at every sign-in and every refresh.

A condition can only deny. A further proof of who signs in is a `methods.Method`.
"""

from collections.abc import Callable
from typing import NamedTuple

from authsite.platform.context import Context
from authsite.platform.http.errors import ApiError
from authsite.platform.registrations import Registered
from authsite.sign_in.failure_reasons import FailureReason
from authsite.users.account import Account

Check = Callable[[Context, Account], None]
Notify = Callable[[Context, Account], None]


class AccountCondition(NamedTuple):
    """A check after a right proof, and at every refresh.

    ``check`` raises to deny; the audit event of the login then has ``reason``. ``notify`` is set if
    the denial reveals that the account exists: with `prevent-enumeration` the answer is then that
    of a wrong password, and ``notify`` informs the user by mail. It is called before the request
    has written anything.
    """

    check: Check
    notify: Notify | None = None
    reason: FailureReason = FailureReason.DENIED


ACCOUNT_CONDITIONS = Registered[AccountCondition]("account conditions")


class Denial(NamedTuple):
    """The condition that denies, and its error."""

    condition: AccountCondition
    error: ApiError


def find_denial(ctx: Context, account: Account) -> Denial | None:
    """The first condition that denies, if one does."""
    for condition in ACCOUNT_CONDITIONS.of(ctx.services).values():
        try:
            condition.check(ctx, account)
        except ApiError as error:
            return Denial(condition, error)
    return None


def check_account(ctx: Context, account: Account) -> None:
    """Check every condition; raises the error of the first one that denies."""
    if denial := find_denial(ctx, account):
        raise denial.error
