"""First-party clients: proxy endpoints, where the server adds the client's credentials."""

from typing import TYPE_CHECKING

from authsite.platform.http.api_metadata import Tag

from .service import clear_all

if TYPE_CHECKING:
    from pyramid.config import Configurator

API_TAG = Tag(
    "First-party clients",
    "Login and refresh for your own applications. The server adds the client's credentials.",
    place=20,
)


def includeme(config: "Configurator") -> None:
    """The paths of every client for login and refresh; `/app` unless `app-page` is off."""
    config.add_route("authsite.proxy.login", "/v1/clients/{client}/login", errors="oauth")
    config.add_route(
        "authsite.proxy.users_login", "/v1/clients/{client}/users/login", errors="oauth"
    )
    config.add_route("authsite.proxy.refresh", "/v1/clients/{client}/refresh", errors="oauth")
    config.at_logout(clear_all)
    config.scan(".api")
    config.include(".mfa")
    if config.registry["authsite"].settings.app_page:
        config.add_route("authsite.app", "/app")
        config.scan(".pages")
