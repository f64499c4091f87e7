"""The authorization endpoint, where an application gets a code for a user, and the logout."""

from typing import TYPE_CHECKING

from authsite.oauth.oidc.availability import is_on

from .continuation import find
from .logout.reasons import LogoutReason

if TYPE_CHECKING:
    from pyramid.config import Configurator


def includeme(config: "Configurator") -> None:
    """The routes, and what the login page says; none with `openid` off."""
    config.add_reasons("logout", LogoutReason)
    if not is_on(config.registry["authsite"]):
        return
    config.add_route("authsite.authorize", "/oauth/authorize")
    config.add_route("authsite.oauth.end_session", "/oauth/logout")
    config.add_route("authsite.device.page", "/device", guard="web")
    config.add_onward(find)
    config.scan(".pages")
    config.scan(".logout.pages")
    config.scan(".device_pages")
