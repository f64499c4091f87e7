"""The client registration endpoint (RFC 7591, section 3)."""

from pyramid.security import NO_PERMISSION_REQUIRED
from pyramid.view import view_config

from authsite.platform.http.api_metadata import Operation
from authsite.platform.rate_limit.errors import TooManyAttempts
from authsite.platform.request_state import Request

from . import ROUTE, service
from .bodies import ClientMetadata, RegisteredClientAnswer
from .errors import InvalidClientMetadata, InvalidRedirectUri


@view_config(
    route_name=ROUTE,
    request_method="POST",
    body=ClientMetadata,
    renderer="json",
    permission=NO_PERMISSION_REQUIRED,
)
@Operation(
    "Register a client",
    {201: RegisteredClientAnswer},
    description=(
        "For programs that register themselves (RFC 7591), while the setting `client-registration` "
        "is `open`. Such a client can use codes and refresh tokens, and the page on which the user "
        "allows it says that it is not verified. Unless it is used within a day, it is deleted."
    ),
    errors=(InvalidRedirectUri, InvalidClientMetadata, TooManyAttempts(60)),
)
def register(request: Request) -> RegisteredClientAnswer:
    """Register what the client says about itself."""
    answer = service.register(request.authsite.ctx, request.authsite.validated)
    request.response.status_int = 201
    return answer
