"""What this page is made of."""

import json
from typing import Annotated, Any

from pydantic import Field
from pyramid.security import NO_PERMISSION_REQUIRED
from pyramid.view import view_config
from typing_extensions import TypedDict

from authsite.http.answers import answers
from authsite.http.kept import answer, keep

from .document import document

FIVE_MINUTES = "public, max-age=300"


class Description(TypedDict):
    """This API's description."""

    openapi: Annotated[str, Field(pattern=r"^3\.1\.", examples=["3.1.0"])]
    info: dict[str, Any]
    paths: dict[str, Any]
    components: dict[str, Any]


def described(request) -> dict[str, Any]:
    """The document of this application: made at the first request, and kept."""
    kept: dict[str, dict[str, Any]] = request.registry.setdefault("authsite.openapi", {})
    server = _server(request)
    if server not in kept:
        kept[server] = document(request.registry, server)
    return kept[server]


@view_config(route_name="authsite.openapi", request_method="GET", permission=NO_PERMISSION_REQUIRED)
@answers({200: Description, 304: None})
def openapi(request):
    """Describe this API as OpenAPI 3.1."""
    kept = request.registry.setdefault("authsite.openapi_json", {})
    server = _server(request)
    if server not in kept:
        text = json.dumps(described(request), ensure_ascii=False)
        kept[server] = keep(text.encode(), "application/json")
    return answer(request, kept[server], FIVE_MINUTES)


def address(request) -> str:
    """Scheme, host and path that the document's paths stand below, for examples to paste."""
    prefix: str = request.registry["authsite.prefix"]
    return str(request.base_url).removesuffix(prefix)


def _server(request) -> str:
    """What the paths stand below: set, or relative, so that no Host header is believed."""
    prefix = request.registry["authsite.prefix"]
    return (request.cfg.base_url or "").removesuffix(prefix) or request.script_name or "/"
