"""The first page of the console: what happened within a day, and the search for a user."""

from typing import TYPE_CHECKING

from authsite.admin.navigation import add_routes

if TYPE_CHECKING:
    from pyramid.config import Configurator


def includeme(config: "Configurator") -> None:
    """The route."""
    add_routes(config, pages={"start": ""})
