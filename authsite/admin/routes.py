"""The routes of a package of `authsite.admin`: its part of the API, and its pages.

They are added only where the settings have them, and so are the views of ``api.py`` and
``pages.py``.
"""

from collections.abc import Mapping
from typing import TYPE_CHECKING

from authsite.platform.context import Services

from .guard import API_ROUTES, ROUTES

if TYPE_CHECKING:
    from pyramid.config import Configurator

API, PAGES = "/v1/admin", "/admin"


def add_routes(
    config: "Configurator",
    *,
    api: Mapping[str, str] | None = None,
    pages: Mapping[str, str] | None = None,
) -> None:
    """Add the routes, and scan ``.api`` and ``.pages`` of the package that calls.

    ``api``, ``pages``: the paths below `API` and `PAGES` by the names of the routes, which become
    ``authsite.admin.api.<name>`` and ``authsite.admin.<name>``.
    """
    services: Services = config.registry["authsite"]
    if api and services.settings.admin_api:
        for name, path in api.items():
            config.add_route(
                f"{API_ROUTES}{name}", f"{API}{path}", guard="api", admin_networks=True
            )
        config.scan(".api")
    if pages and services.settings.admin_console:
        for name, path in pages.items():
            config.add_route(
                f"{ROUTES}{name}", f"{PAGES}{path}", guard="web", errors="html", admin_networks=True
            )
        config.scan(".pages")
