"""The view of the metadata document."""

import json
from typing import Annotated, NotRequired
from urllib.parse import unquote, urlsplit

from pydantic import Field
from pyramid.response import Response
from typing_extensions import TypedDict

from authsite.oauth.client_auth import METHODS
from authsite.oauth.grants import GRANTS
from authsite.platform.http.address import base_path
from authsite.platform.http.api_metadata import Operation, Parameters, response_body
from authsite.platform.http.cached_response import (
    CACHED,
    FIVE_MINUTES,
    CachedResponse,
    respond_from_cache,
)
from authsite.request_state import Request

_ISSUER = "https://auth.example.com"
_Methods = Annotated[list[str], Field(examples=[["client_secret_basic", "client_secret_post"]])]


@response_body("The endpoints and methods of this authorization server (RFC 8414, section 2).")
class MetadataAnswer(TypedDict):
    issuer: Annotated[str, Field(examples=[_ISSUER])]
    """The base URL of this service."""
    token_endpoint: Annotated[str, Field(examples=[f"{_ISSUER}/v1/oauth/token"])]
    """The URL of the token endpoint."""
    token_endpoint_auth_methods_supported: _Methods
    """How a client authenticates at the token endpoint."""
    introspection_endpoint: Annotated[str, Field(examples=[f"{_ISSUER}/v1/oauth/introspect"])]
    """The URL for token introspection (RFC 7662)."""
    introspection_endpoint_auth_methods_supported: _Methods
    """How a client authenticates there."""
    revocation_endpoint: Annotated[str, Field(examples=[f"{_ISSUER}/v1/oauth/revoke"])]
    """The URL for token revocation (RFC 7009)."""
    revocation_endpoint_auth_methods_supported: _Methods
    """How a client authenticates there."""
    grant_types_supported: Annotated[list[str], Field(examples=[list(GRANTS)])]
    """The grant types of the token endpoint."""
    response_types_supported: Annotated[list[str], Field(examples=[["none"]])]
    """`none`: there is no authorization endpoint."""
    scopes_supported: NotRequired[list[str]]
    """The scopes in setting `scopes`; missing if there are none."""


class MetadataPath(Parameters):
    """Path of the metadata of an issuer whose URL has a path."""

    issuer_path: Annotated[str, Field(examples=["auth"])]
    """The path of the issuer, without the slash in front."""


# Registered in `includeme`, because the second route does not always exist.
@Operation(
    "Describe this authorization server",
    {200: MetadataAnswer, 304: None},
    headers={200: CACHED, 304: CACHED},
    description=(
        "The metadata of RFC 8414. If the URL of this service has a path, the document is also at "
        "the path that section 3.1 defines, with the path of the issuer at its end."
    ),
)
def metadata(request: Request) -> Response:
    """Respond with the metadata of the issuer of this request, which clients may cache."""
    text = json.dumps(_metadata(request, _issuer(request)))
    return respond_from_cache(
        request, CachedResponse(text.encode(), "application/json"), FIVE_MINUTES
    )


def _issuer(request: Request) -> str:
    """The base URL of this request; in the form of section 3.1, the one with the path named."""
    urls = request.authsite.base_urls
    named = request.matchdict.get("issuer_path")
    paths = (unquote(urlsplit(url).path).removeprefix("/") for url in urls)
    matching = (url for url, path in zip(urls, paths, strict=True) if path == named)
    return next(matching, urls[0])


def _metadata(request: Request, issuer: str) -> MetadataAnswer:
    methods = list(METHODS)

    def endpoint(route: str) -> str:
        return f"{issuer}{base_path(request, route)}"

    answer: MetadataAnswer = {
        "issuer": issuer,
        "token_endpoint": endpoint("authsite.oauth.token"),
        "token_endpoint_auth_methods_supported": methods,
        "introspection_endpoint": endpoint("authsite.oauth.introspect"),
        "introspection_endpoint_auth_methods_supported": methods,
        "revocation_endpoint": endpoint("authsite.oauth.revoke"),
        "revocation_endpoint_auth_methods_supported": methods,
        "grant_types_supported": list(GRANTS),
        "response_types_supported": ["none"],
    }
    if request.authsite.settings.scopes:  # section 3.2: no empty lists
        answer["scopes_supported"] = list(request.authsite.settings.scopes)
    return answer
