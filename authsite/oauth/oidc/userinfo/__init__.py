"""The userinfo endpoint (OpenID Connect Core 1.0, section 5.3)."""

from typing import TYPE_CHECKING

from authsite.oauth import API_TAG
from authsite.oauth.scopes import OPENID
from authsite.platform.db.transaction import READING_PATHS

if TYPE_CHECKING:
    from pyramid.config import Configurator

__all__ = ["API_TAG"]

PATH = "/v1/oauth/userinfo"


def includeme(config: "Configurator") -> None:
    """The route. A token for a resource does not open it (RFC 8707)."""
    READING_PATHS.add(config, PATH)
    config.add_route("authsite.oauth.userinfo", PATH, guard="api", scope=OPENID)
    config.scan(".api")
