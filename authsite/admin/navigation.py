"""The navigation of the console: the pages that exist and that the administrator may read."""

from typing import NamedTuple

from pyramid.interfaces import IRoutesMapper

from authsite.platform.http.address import route_path
from authsite.platform.i18n import _
from authsite.platform.request_state import Request

from .guard import ANY, ROUTES, administrator_of

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
