"""Clients that register themselves (RFC 7591), while the setting `client-registration` is open."""

from typing import TYPE_CHECKING

from authsite.oauth import API_TAG
from authsite.oauth.clients import unused
from authsite.oauth.oidc.availability import is_on

from .service import RegistrationReason

if TYPE_CHECKING:
    from pyramid.config import Configurator

__all__ = ["API_TAG"]

ROUTE = "authsite.oauth.register"


def includeme(config: "Configurator") -> None:
    """The route, if the setting and `openid` allow it, and the cleanup of what is never used."""
    config.add_cleanup(
        "unused_clients",
        "Clients that registered themselves",
        unused.purge,
        when="never used, after a day",
    )
    config.add_reasons("registration", RegistrationReason)
    services = config.registry["authsite"]
    if services.settings.client_registration == "open" and is_on(services):
        config.add_route(ROUTE, "/v1/oauth/register", errors="oauth")
        config.scan(".api")
