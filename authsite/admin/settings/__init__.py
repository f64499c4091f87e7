"""The settings for administrators: read only, without secrets."""

from typing import TYPE_CHECKING

from authsite.admin.navigation import add_routes

if TYPE_CHECKING:
    from pyramid.config import Configurator


def includeme(config: "Configurator") -> None:
    """The routes."""
    add_routes(config, api={"settings": "/settings"}, pages={"settings": "/settings"})
