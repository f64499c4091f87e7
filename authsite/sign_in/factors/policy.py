"""The setting `second-factor`, and who may add a first factor."""

from datetime import UTC, datetime, time, timedelta

from authsite.platform.settings import Settings
from authsite.users.account import Account
from authsite.users.groups import labels
from authsite.users.groups.reserved import is_reserved
from authsite.users.levels import AAL2, EMAIL, REMEMBERED, acr_of, reaches

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
