"""The view that serves the OpenAPI document."""

import json
from typing import Annotated, Any

from pydantic import ConfigDict, Field, with_config
from pyramid.response import Response
from pyramid.security import NO_PERMISSION_REQUIRED
from pyramid.view import view_config
from typing_extensions import TypedDict

from authsite.platform.http.api_metadata import Operation
from authsite.platform.http.cached_response import (
    CACHED,
    FIVE_MINUTES,
    CachedResponse,
    respond_from_cache,
)
from authsite.platform.request_state import Request

from .document import document


@with_config(ConfigDict(json_schema_extra={"description": "The description of this API."}))
class Description(TypedDict):
    openapi: Annotated[str, Field(pattern=r"^3\.1\.", examples=["3.1.0"])]
    info: dict[str, Any]
    paths: dict[str, Any]
    components: dict[str, Any]


@view_config(route_name="authsite.openapi", request_method="GET", permission=NO_PERMISSION_REQUIRED)
@Operation(
    "Describe this API as OpenAPI 3.1",
    {200: Description, 304: None},
    headers={200: CACHED, 304: CACHED},
)
def openapi(request: Request) -> Response:
    """Respond from the cache, which has one document for each server URL."""
    documents: dict[str, CachedResponse] = request.registry["authsite.openapi"]
    server = _server(request)
    if server not in documents:
        text = json.dumps(document(request.registry, server), ensure_ascii=False)
        documents[server] = CachedResponse(text.encode(), "application/json")
    return respond_from_cache(request, documents[server], FIVE_MINUTES)


def _server(request: Request) -> str:
    """The URL of the server (OpenAPI 3.1, section 4.8.5), without the Host header.

    It is absolute with the setting `base-url`, else a path.
    """
    address = request.authsite.address
    if request.authsite.settings.base_url:
        return address.application_url
    return address.mount or "/"
