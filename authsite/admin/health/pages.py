"""/admin/health"""

from typing import Any

from pyramid.view import view_config

from authsite.platform.request_state import Request

from . import service

PAGE = "authsite:templates/admin/health.jinja2"


@view_config(
    route_name="authsite.admin.health", request_method="GET", renderer=PAGE, admin="health:read"
)
def show(request: Request) -> dict[str, Any]:
    """The state of the service, at most a minute old."""
    return {"health": service.health(request.authsite.ctx), "max_counted": service.MAX_COUNTED}
