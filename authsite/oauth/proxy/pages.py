"""The page of the bundled web client, which uses the proxy endpoints and a bearer token."""

from pyramid.security import NO_PERMISSION_REQUIRED
from pyramid.view import view_config

from authsite.platform.request_state import Request
from authsite.sign_in.wording import wording


@view_config(
    route_name="authsite.app",
    request_method="GET",
    renderer="authsite:templates/app/app.jinja2",
    permission=NO_PERMISSION_REQUIRED,
)
def app(request: Request) -> dict[str, object]:
    """The example to copy; what it does is in static/client/app.js."""
    return {"wording": wording(request.authsite.settings.login_identifiers)}
