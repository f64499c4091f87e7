"""The OpenAPI 3.1 document of the API, and a page that shows it."""

from typing import TYPE_CHECKING

from authsite.platform.http.api_metadata import Tag

if TYPE_CHECKING:
    from pyramid.config import Configurator

API_TAG = Tag("API description", "The OpenAPI document.", place=130)


def includeme(config: "Configurator") -> None:
    """Add the routes and views of the document, and of the page unless `docs-page` is off."""
    config.registry["authsite.openapi"] = {}  # cached documents by server
    config.add_route("authsite.openapi", "/v1/openapi.json", errors="json")
    config.scan(".api")
    if config.registry["authsite"].settings.docs_page:
        config.add_route("authsite.docs", "/docs")
        config.scan(".pages")
