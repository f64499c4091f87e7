"""GET /admin/users/{id}"""

from typing import Any

from pyramid.view import view_config

from authsite.platform.request_state import Request
from authsite.platform.runtime import clock
from authsite.users import agents

from . import sections
from .asking import acting

USER = "authsite:templates/admin/users/user.jinja2"


@view_config(
    route_name="authsite.admin.users.user",
    request_method="GET",
    renderer=USER,
    admin="users:read",
)
def show(request: Request) -> dict[str, Any]:
    """One user, and the links to what the administrator may do."""
    return {
        **sections.values(*acting(request)),
        "now": clock.now(),
        "program": agents.describe,
    }
