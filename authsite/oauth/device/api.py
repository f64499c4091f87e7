"""The device authorization endpoint (RFC 8628, section 3.1)."""

from typing import Annotated, ClassVar
from urllib.parse import urlencode

from pydantic import Field
from pyramid.security import NO_PERMISSION_REQUIRED
from pyramid.view import view_config
from typing_extensions import TypedDict

from authsite.oauth.api import client_of, naming_client, reject_query
from authsite.oauth.errors import (
    DEVICE_CODE,
    RESOURCE,
    ClientBody,
    InvalidClient,
    InvalidScope,
    InvalidTarget,
    ParametersInQuery,
    TwoClientAuthentications,
    UnauthorizedClient,
)
from authsite.oauth.models import MAX_URI
from authsite.oauth.oidc.id_tokens import issuer_of
from authsite.platform.http.address import base_path
from authsite.platform.http.api_metadata import CLIENT_BASIC, Operation, response_body
from authsite.platform.http.bodies import MaybeEmpty
from authsite.platform.rate_limit.errors import TooManyAttempts
from authsite.platform.request_state import Request

from . import service

PAGE = "authsite.device.page"
_PAGE_URL = "https://auth.example.com/device"


class DeviceBody(ClientBody):
    description: ClassVar[str] = "What a program or device asks for (RFC 8628, section 3.1)."

    scope: Annotated[MaybeEmpty | None, Field(examples=["openid email"])] = None
    """Scopes, separated by spaces. The default is the client's."""
    resource: Annotated[str | None, Field(max_length=MAX_URI, examples=[RESOURCE])] = None
    """The URI of the resource that the tokens are for (RFC 8707). The default is the client's, or
    none."""


@response_body("What the device shows to the person, and what it asks for the tokens with.")
class DeviceAnswer(TypedDict):
    device_code: Annotated[str, Field(pattern="^dc_[A-Za-z0-9_-]+$", examples=[DEVICE_CODE])]
    """For the grant `urn:ietf:params:oauth:grant-type:device_code`; keep it secret."""
    user_code: Annotated[str, Field(examples=["WDJB-MJHT"])]
    """What the person enters. Upper and lower case and spaces make no difference."""
    verification_uri: Annotated[str, Field(examples=[_PAGE_URL])]
    """The page on which they enter it."""
    verification_uri_complete: Annotated[str, Field(examples=[f"{_PAGE_URL}?user_code=WDJB-MJHT"])]
    """The same page with the code filled in, for a QR code."""
    expires_in: Annotated[int, Field(ge=0, examples=[600])]
    """The remaining lifetime of both codes in seconds."""
    interval: Annotated[int, Field(ge=1, examples=[5])]
    """How many seconds to wait at least between two requests for the tokens."""


@view_config(
    route_name="authsite.oauth.device",
    request_method="POST",
    body=DeviceBody,
    renderer="json",
    permission=NO_PERMISSION_REQUIRED,
)
@Operation(
    "Begin a sign-in on another device",
    {200: DeviceAnswer},
    description=(
        "For command-line tools and devices without a browser, of type `native` (RFC 8628). Show "
        "`verification_uri` and `user_code`. Then ask the token endpoint for the tokens, with "
        "`interval` seconds between two requests."
    ),
    errors=(
        InvalidClient(headers={"WWW-Authenticate": 'Basic realm="authsite"'}),
        UnauthorizedClient,
        InvalidScope,
        InvalidTarget,
        TwoClientAuthentications,
        ParametersInQuery,
        TooManyAttempts(60),
    ),
    credentials=CLIENT_BASIC,
)
def start(request: Request) -> DeviceAnswer:
    """Authenticate the client and store what it asks for."""
    body: DeviceBody = request.authsite.validated
    reject_query(request)
    client = client_of(request, body)
    with naming_client(client.id):
        started = service.start(request.authsite.ctx, client, body.scope, body.resource)
    page = f"{issuer_of(request.authsite.services)}{base_path(request, PAGE)}"
    return {
        "device_code": started.device_code,
        "user_code": started.user_code,
        "verification_uri": page,
        "verification_uri_complete": f"{page}?{urlencode({'user_code': started.user_code})}",
        "expires_in": started.expires_in,
        "interval": started.interval,
    }
