"""The cookie of a browser that is remembered after a second factor; see `remembered`."""

import uuid

from authsite.platform.context import Context
from authsite.platform.http import cookies
from authsite.platform.request_state import Request
from authsite.sign_in.method import Pending, Target

from . import policy, remembered
from .names import MAIL_CODE

MAX_LENGTH = 256


def target_of(
    request: Request,
    *,
    remember: bool = False,
    next: str | None = None,
    identity_id: uuid.UUID | None = None,
) -> Target:
    """The target of a sign-in on our pages, with the cookie that the browser sent."""
    cookie = remembered_cookie(request)
    return Target(remember=remember, next=next, identity_id=identity_id, remembered=cookie)


def remembered_cookie(request: Request) -> str | None:
    """The value of the cookie, or None; it has not been checked."""
    value = cookies.read(request, cookies.host_name(request, cookies.FACTOR))
    return value if value and len(value) <= MAX_LENGTH else None


def may_remember(ctx: Context, pending: Pending) -> bool:
    """Whether the page offers to remember the browser.

    It does not where no second factor is asked for, nor for administrators; see `gate`.
    """
    if not ctx.settings.remember_factor or pending.enroll or MAIL_CODE in pending.methods:
        return False
    return pending.account is not None and not policy.is_administrator(pending.account)


def remember(request: Request, pending: Pending, user_id: uuid.UUID) -> None:
    """Remember the browser, whose user has just completed the login, and set the cookie.

    Where `may_remember` is false, nothing happens.
    """
    ctx = request.authsite.ctx
    if not may_remember(ctx, pending):
        return
    value = remembered.remember(ctx, user_id)
    if value is not None:
        name = cookies.host_name(request, cookies.FACTOR)
        max_age = int(ctx.settings.remember_factor.total_seconds())
        cookies.write(request, request.response, cookies.Cookie(name, value, max_age))
