"""Login names, the password check, reauthentication, and the pages of login and logout."""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pyramid.config import Configurator


def includeme(config: "Configurator") -> None:
    """The routes."""
    # In a host without a route prefix, "/" is the host's: the route only makes links.
    ours = config.registry["authsite.http"].standalone or config.route_prefix
    config.add_route("authsite.home", "/", static=not ours)
    config.add_route("authsite.login.page", "/login")
    config.add_route("authsite.logout.page", "/logout")
    config.scan(".pages")
