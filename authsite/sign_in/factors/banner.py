"""What the account pages say before the day from which everybody needs a second factor."""

from datetime import date

from authsite.platform.http import cookies
from authsite.platform.request_state import Request
from authsite.platform.runtime import clock
from authsite.users.caller import signed_in

from . import left, policy, state

SHOWN_AGAIN_AFTER = 24 * 60 * 60  # seconds


def factor_day(request: Request) -> date | None:
    """``request.authsite.factor_day``: the day, for a user without a factor who is to know it.

    None also for a day after "Later".
    """
    cfg, caller = request.authsite.settings, signed_in(request)
    day: date | None = cfg.second_factor_from
    if cfg.second_factor != "required" or day is None or caller is None or caller.account is None:
        return None
    if policy.is_required(cfg, clock.now()) or _is_put_off(request):
        return None
    ctx, user_id = request.authsite.ctx, caller.account.id
    if state.read(ctx, user_id).second_factor_at or left.has_factor(ctx, user_id):
        return None
    return day


def put_off(request: Request) -> None:
    """Do not say it in this browser for a day."""
    name = cookies.host_name(request, cookies.LATER)
    cookies.write(request, request.response, cookies.Cookie(name, "1", SHOWN_AGAIN_AFTER))


def _is_put_off(request: Request) -> bool:
    return cookies.read(request, cookies.host_name(request, cookies.LATER)) is not None
