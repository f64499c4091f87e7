"""The view of the metadata document."""

import json
from typing import Annotated
from urllib.parse import unquote, urlsplit

from pydantic import Field
from pyramid.interfaces import IRoutesMapper
from pyramid.response import Response

from authsite.oauth.client_auth import METHODS
from authsite.oauth.grants.table import available
from authsite.oauth.oidc.availability import is_on
from authsite.oauth.oidc.issuer import issuer_of
from authsite.platform.http.address import base_path
from authsite.platform.http.api_metadata import Operation, Parameters
from authsite.platform.http.cached_response import (
    FIVE_MINUTES,
    PUBLIC,
    CachedResponse,
    respond_from_cache,
)
from authsite.platform.request_state import Request

from .document import MetadataAnswer
from .openid import openid_members


class MetadataPath(Parameters):
    """Path of the metadata of an issuer whose URL has a path."""

    issuer_path: Annotated[str, Field(examples=["auth"])]
    """The path of the issuer, without the slash in front."""


# Registered in `includeme`, because not all of its routes always exist.
@Operation(
    "Describe this authorization server",
    {200: MetadataAnswer, 304: None},
    headers={200: PUBLIC, 304: PUBLIC},
    description=(
        "The metadata of RFC 8414, and of OpenID Connect Discovery 1.0 if that is on. If the URL "
        "of this service has a path, the document is also at the path that section 3.1 of RFC 8414 "
        "defines, with the path of the issuer at its end."
    ),
)
def metadata(request: Request) -> Response:
    """Respond with the metadata of the issuer, which clients may cache."""
    text = json.dumps(_metadata(request))
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


def _metadata(request: Request) -> MetadataAnswer:
    services = request.registry["authsite"]
    on = is_on(services)
    # One issuer: a client compares it with the one in ID tokens.
    issuer = issuer_of(services) if on else _issuer(request)

    def endpoint(route: str) -> str | None:
        """The URL of a route; None if there is no such route."""
        if request.registry.getUtility(IRoutesMapper).get_route(route) is None:
            return None
        return f"{issuer}{base_path(request, route)}"

    authenticated = list(METHODS)
    # Public clients; some clients of MCP require it to be listed.
    public = [*METHODS, "none"] if on else authenticated
    answer: MetadataAnswer = {
        "issuer": issuer,
        "token_endpoint": endpoint("authsite.oauth.token") or "",
        "token_endpoint_auth_methods_supported": public,
        "introspection_endpoint": endpoint("authsite.oauth.introspect") or "",
        "introspection_endpoint_auth_methods_supported": authenticated,
        "revocation_endpoint": endpoint("authsite.oauth.revoke") or "",
        "revocation_endpoint_auth_methods_supported": public,
        "grant_types_supported": available(services),
        "response_types_supported": ["code"] if on else ["none"],
    }
    if request.authsite.settings.scopes:  # section 3.2: no empty lists
        answer["scopes_supported"] = list(request.authsite.settings.scopes)
    if on:
        openid_members(answer, request.authsite.settings, endpoint)
    return answer
