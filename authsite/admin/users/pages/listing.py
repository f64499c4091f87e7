"""GET /admin/users"""

from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any

from pyramid.view import view_config

from authsite.admin.errors import InvalidCursor, SearchTooWide
from authsite.admin.guard import administrator_of
from authsite.admin.queries import invalid
from authsite.admin.users import search
from authsite.admin.users.search import Wanted
from authsite.platform.http.errors import FieldError, ValidationFailed
from authsite.platform.http.forms import set_errors
from authsite.platform.i18n import _
from authsite.platform.request_state import Request

USERS = "authsite:templates/admin/users/users.jinja2"
FIELDS = ("q", "disabled", "confirmed", "group", "created_after", "without_factor")
MAX_LENGTH = 320  # characters of a field
_FLAGS = {"true": True, "false": False}


@view_config(
    route_name="authsite.admin.users",
    request_method="GET",
    renderer=USERS,
    admin="users:read",
)
def show(request: Request) -> dict[str, Any]:
    """The users that agree with the search, page by page."""
    given = {name: request.GET.get(name, "").strip()[:MAX_LENGTH] for name in FIELDS}
    values: dict[str, Any] = {"given": given, "users": (), "next": None, "counted": None}
    try:
        return values | _find(request, _wanted(given))
    except (InvalidCursor, SearchTooWide, ValidationFailed) as error:
        set_errors(request, error)
        return values


def _find(request: Request, wanted: Wanted) -> dict[str, Any]:
    ctx, by, cursor = request.authsite.ctx, administrator_of(request), request.GET.get("cursor")
    page = search.search(ctx, by, wanted, cursor=cursor, walk=search.PAGE_WALK)
    found: dict[str, Any] = {"users": page.rows, "next": page.next}
    if cursor:
        return found
    return {**found, "counted": search.count(ctx, wanted, search.PAGE_WALK)}


def _wanted(given: Mapping[str, str]) -> Wanted:
    """What is searched for. Raises `ValidationFailed`."""
    if bad := [name for name, text in given.items() if "\0" in text]:
        raise ValidationFailed(details=[invalid(name) for name in bad])
    return Wanted(
        q=given["q"],
        disabled=_FLAGS.get(given["disabled"]),
        confirmed=_FLAGS.get(given["confirmed"]),
        group=given["group"] or None,
        created_after=_day(given["created_after"]),
        without_factor=given["without_factor"] == "true",
    )


def _day(text: str) -> datetime | None:
    """The beginning of a day, in UTC."""
    if not text:
        return None
    try:
        return datetime.strptime(text, "%Y-%m-%d").replace(tzinfo=UTC)
    except ValueError:
        message = _("Write the day as year-month-day, such as 2026-05-31.")
        raise ValidationFailed(details=[FieldError("invalid", "created_after", message)]) from None
