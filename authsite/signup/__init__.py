"""Registration: from a stranger to a user."""

from typing import TYPE_CHECKING

from authsite.platform.http.api_metadata import Tag

if TYPE_CHECKING:
    from pyramid.config import Configurator

API_TAG = Tag("Registration", "Register a user.", place=10)


def includeme(config: "Configurator") -> None:
    """Routes of the endpoint and the page; none with `registration` off."""
    if not config.registry["authsite"].settings.registration_open:
        return
    config.add_route("authsite.register", "/v1/register", errors="json")
    config.add_route("authsite.register.page", "/register")
    config.add_route("authsite.register.check", "/register/check")
    config.add_route("authsite.register.code", "/register/code")
    config.scan(".api")
    config.scan(".pages")
