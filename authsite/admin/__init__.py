"""What administrators do: services without request, behind a console, an API and commands.

Each package below has one subject: ``service.py``, ``api.py`` below /v1/admin, ``pages.py`` below
/admin, and for users, mail and audit the commands, ``cli``. `guard` has the permission that each
view names; `administrator` who acts, and at whom.
Pages extend admin/layout.jinja2; `navigation` has its entries, and `confirming` the page that
stands before each action.
"""

from typing import TYPE_CHECKING

from authsite.platform.http import cors
from authsite.platform.http.api_metadata import Tag

from . import guard, navigation

if TYPE_CHECKING:
    from pyramid.config import Configurator

API_TAG = Tag(
    "Administration",
    "What administrators do: users, groups, clients, invitations, mails, the audit trail. Each"
    " operation needs the scope that it names.",
    place=120,
)
PACKAGES = (
    "audit", "clients", "groups", "health", "invitations", "mail", "me", "settings", "start",
    "users",
)  # fmt: skip


def includeme(config: "Configurator") -> None:
    """The view options, and the console and the API where the settings have them."""
    guard.add_permissions(config)
    cors.close(config, "authsite.admin.api.")
    config.add_request_attribute("admin_places", navigation.places)
    for package in PACKAGES:
        config.include(f".{package}")
