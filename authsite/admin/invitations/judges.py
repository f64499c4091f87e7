"""What else is wrong with a refused request about invitations: see `authsite.admin.judges`."""

from collections.abc import Sequence
from typing import Any

from authsite.admin.guard import administrator_of
from authsite.platform.http.errors import FieldError
from authsite.platform.request_state import Request

from . import service
from .service import require_recent_for


def new(request: Request, given: Any, *, confirming: bool = False) -> Sequence[FieldError]:
    """For an invitation. An invitation to a group asks for a recent proof first."""
    ctx, by = request.authsite.ctx, administrator_of(request)
    unreadable = given.group is None and "group" in given.sent
    group = "unreadable" if unreadable else given.group
    service.require_permission(ctx, by, group)
    require_recent_for(request, group, confirming=confirming)
    return service.field_errors(ctx, by, given.email, given.group, given.reason)


def new_on_page(request: Request, given: Any) -> Sequence[FieldError]:
    """`new` for the form of the console, which is kept while the administrator proves again."""
    return new(request, given, confirming=True)


def resendable(request: Request) -> None:
    """What is asked before an invitation is mailed again."""
    ctx, by = request.authsite.ctx, administrator_of(request)
    service.require_resendable(ctx, by, request.matchdict["id"])


def revocable(request: Request) -> None:
    """What is asked before an invitation is revoked."""
    service.require_revocable(request.authsite.ctx, request.matchdict["id"])
