"""The bundled web client's page: only the proxies and a bearer token, no session."""

from pyramid.security import NO_PERMISSION_REQUIRED
from pyramid.view import view_config


@view_config(
    route_name="authsite.app",
    request_method="GET",
    renderer="authsite:templates/app/app.jinja2",
    permission=NO_PERMISSION_REQUIRED,
)
def app(request):
    """The example to copy; what it does is in static/client/app.js."""
    return {}
