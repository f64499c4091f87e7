"""GET /admin"""

from typing import Any

from pyramid.view import view_config

from authsite.admin.guard import ANY, administrator_of
from authsite.admin.health import service as health
from authsite.platform.request_state import Request

from . import service

START = "authsite:templates/admin/start.jinja2"


@view_config(route_name="authsite.admin.start", request_method="GET", renderer=START, admin=ANY)
def show(request: Request) -> dict[str, Any]:
    """The numbers that the administrator may read, and the search."""
    ctx, by = request.authsite.ctx, administrator_of(request)
    found = service.last_day(ctx)
    return {
        "day": found if by.may("audit:read") else None,
        "problems": health.health(ctx).errors if by.may("health:read") else (),
        "dead_mails": found.dead_mails if by.may("mail:read") else None,
        "searches": any(place.name == "users" for place in request.authsite.admin_places),
    }
