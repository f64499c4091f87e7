"""The navigation of the console: the pages that exist and that the administrator may read."""

from collections.abc import Mapping
from typing import TYPE_CHECKING, NamedTuple

from pyramid.interfaces import IRoutesMapper

from authsite.platform.context import Services
from authsite.platform.http.address import route_path
from authsite.platform.i18n import _
from authsite.platform.request_state import Request

from .guard import ANY, API_ROUTES, ROUTES, administrator_of

if TYPE_CHECKING:
    from pyramid.config import Configurator


PLACES = (
    ("start", _("Overview"), ANY),
    ("users", _("Users"), "users:read"),
    ("groups", _("Groups"), "groups:read"),
    ("invitations", _("Invitations"), "invitations:read"),
    ("clients", _("Apps and programs"), "clients:read"),
    ("audit", _("Audit trail"), "audit:read"),
    ("mail", _("Mail"), "mail:read"),
    ("health", _("Health"), "health:read"),
    ("settings", _("Settings"), "settings:read"),
)
"""The names of the routes without ``authsite.admin.``, the titles, and what reading them needs."""


class Place(NamedTuple):
    """An entry. ``current``: the value of ``aria-current``; None for another page."""

    name: str
    path: str
    title: str
    current: str | None


def places(request: Request) -> list[Place]:
    """``request.authsite.admin_places``: the entries, for admin/layout.jinja2."""
    by, routes = administrator_of(request), request.registry.getUtility(IRoutesMapper)
    return [
        Place(name, route_path(request, f"{ROUTES}{name}"), title, _current(request, name))
        for name, title, permission in PLACES
        if routes.get_route(f"{ROUTES}{name}") and (permission == ANY or by.may(permission))
    ]


def _current(request: Request, name: str) -> str | None:
    shown = request.matched_route.name.removeprefix(ROUTES)
    if shown == name:
        return "page"
    return "true" if shown.startswith(f"{name}.") else None


# The routes of a package of `authsite.admin`: its part of the API, and its pages.
#
# They are added only where the settings have them, and so are the views of ``api.py`` and
# ``pages.py``.


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
