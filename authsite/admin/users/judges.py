"""What else is wrong with a refused request about a user: see `authsite.admin.judges`."""

from collections.abc import Mapping, Sequence
from typing import Any

from authsite.admin.guard import Administrator, administrator_of
from authsite.platform.context import Context
from authsite.platform.http.errors import FieldError
from authsite.platform.request_state import Request
from authsite.users.models import User

from . import actions, detail


def reach(request: Request) -> tuple[Context, Administrator, User]:
    """The first arguments of an action. Raises `UnknownObject` and `Outranked`."""
    ctx, by = request.authsite.ctx, administrator_of(request)
    return ctx, by, detail.reach(ctx, by, request.matchdict["id"])


def reach_factors(request: Request) -> None:
    """`reach` for an action that takes factors. Raises as `actions.require_factors`, too."""
    _ctx, by, user = reach(request)
    actions.require_factors(by, user)


def profile(request: Request, given: Any) -> Sequence[FieldError]:
    """For name and login names; one that is not sent stays."""
    sent = [name for name in ("name", "username", "phone") if name in given.sent]
    return changed(request, given.reason, {name: getattr(given, name) for name in sent})


def changed(
    request: Request, reason: str | None, texts: Mapping[str, str | None]
) -> Sequence[FieldError]:
    """For new texts of name and login names; None: one that is not valid.

    It counts as the action does where it may say that a login name is taken: one that is kept for
    its former holder cannot be looked for.
    """
    ctx, by, user = reach(request)
    if texts.get("username") or texts.get("phone"):
        actions.count_notice(ctx, by, str(user.id))
    return actions.profile_errors(ctx, by, user, reason, texts)


def email(request: Request, given: Any) -> Sequence[FieldError]:
    """For a change of the address; counted as in `changed`."""
    ctx, by, user = reach(request)
    if given.email:
        actions.count_mail(ctx, by)
    return actions.email_errors(ctx, by, user, given.email, given.reason)


def removal(request: Request, given: Any) -> Sequence[FieldError]:
    """For a deletion."""
    now = bool(given.now)
    return actions.deletion_errors(*reach(request), given.reason, given.email, now=now)
