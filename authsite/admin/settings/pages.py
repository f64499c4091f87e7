"""/admin/settings"""

from typing import Any

from pyramid.view import view_config

from authsite.platform.request_state import Request

from .service import list_settings

PAGE = "authsite:templates/admin/settings.jinja2"


@view_config(
    route_name="authsite.admin.settings",
    request_method="GET",
    renderer=PAGE,
    admin="settings:read",
)
def show(request: Request) -> dict[str, Any]:
    """All settings of the process that answers."""
    return {"settings": list_settings(request.authsite.ctx, request.registry.settings)}
