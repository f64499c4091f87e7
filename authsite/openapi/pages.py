"""The API documentation page: Swagger UI over the OpenAPI document."""

from typing import Any

from pyramid.security import NO_PERMISSION_REQUIRED
from pyramid.view import view_config

from authsite.platform.request_state import Request
from authsite.sign_in.wording import wording


@view_config(
    route_name="authsite.docs",
    request_method="GET",
    renderer="authsite:templates/openapi/docs.jinja2",
    permission=NO_PERMISSION_REQUIRED,
)
def docs(request: Request) -> dict[str, Any]:
    """Show the page; static/docs.js starts the viewer."""
    return {"wording": wording(request.authsite.settings.login_identifiers)}
