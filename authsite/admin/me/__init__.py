"""Who the caller of the API is, and what this administrator may do."""

from typing import TYPE_CHECKING

from authsite.admin.navigation import add_routes

if TYPE_CHECKING:
    from pyramid.config import Configurator


def includeme(config: "Configurator") -> None:
    """The route."""
    add_routes(config, api={"me": "/me"})
