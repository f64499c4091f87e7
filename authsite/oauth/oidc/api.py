"""The view of the public keys."""

import json
from typing import Annotated, NotRequired

from pydantic import Field
from pyramid.response import Response
from pyramid.security import NO_PERMISSION_REQUIRED
from pyramid.view import view_config
from typing_extensions import TypedDict

from authsite.platform.http.api_metadata import Operation, ResponseHeader, response_body
from authsite.platform.http.cached_response import PUBLIC, CachedResponse, respond_from_cache
from authsite.platform.request_state import Request
from authsite.platform.runtime import clock

from .keys.ring import ring_of

AN_HOUR = "public, max-age=3600"
NOT_STORED = "no-store"  # an empty list, while another process makes the first keys
_KEYS_CACHED = {
    **PUBLIC,
    "Cache-Control": ResponseHeader("Caches may store the response.", AN_HOUR),
}


@response_body("The public part of a key (RFC 7517, section 4).")
class PublicKey(TypedDict):
    kty: Annotated[str, Field(examples=["RSA"])]
    """The type of the key: `RSA` or `EC`."""
    kid: Annotated[str, Field(examples=["NzbLsXh8uDCcd-6MNwXF4W_7noWXFZAfHkxZsRGC9Xs"])]
    """The id of the key, its thumbprint (RFC 7638). The header of an ID token names it."""
    use: Annotated[str, Field(examples=["sig"])]
    """`sig`: it signs."""
    alg: Annotated[str, Field(examples=["RS256"])]
    """The algorithm: `RS256` or `ES256`."""
    n: NotRequired[Annotated[str, Field(examples=["0vx7agoebGcQSuuPiLJXZpt…"])]]
    """The modulus of an RSA key."""
    e: NotRequired[Annotated[str, Field(examples=["AQAB"])]]
    """The exponent of an RSA key."""
    crv: NotRequired[Annotated[str, Field(examples=["P-256"])]]
    """The curve of an EC key."""
    x: NotRequired[str]
    """The first coordinate of an EC key."""
    y: NotRequired[str]
    """The second coordinate of an EC key."""


@response_body("The public keys that verify ID tokens (RFC 7517, section 5).")
class KeysAnswer(TypedDict):
    keys: list[PublicKey]
    """The keys that sign, those that will sign next, and those whose tokens have not expired."""


@view_config(route_name="authsite.jwks", request_method="GET", permission=NO_PERMISSION_REQUIRED)
@Operation(
    "List the keys that verify ID tokens",
    {200: KeysAnswer, 304: None},
    headers={200: _KEYS_CACHED, 304: _KEYS_CACHED},
    description=(
        "A key is listed long before it signs, so a client may keep the list for a day. A client "
        "that meets an unknown `kid` reads the list again."
    ),
)
def jwks(request: Request) -> Response:
    """Respond with the public keys, which clients may cache for an hour if there are any."""
    services = request.registry["authsite"]
    keys = ring_of(services).keys(services).published(clock.now())
    body = json.dumps({"keys": keys}).encode()
    return respond_from_cache(
        request, CachedResponse(body, "application/json"), AN_HOUR if keys else NOT_STORED
    )
