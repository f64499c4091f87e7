"""Metadata (RFC 8414, OpenID Connect Discovery), in which clients read endpoints and methods."""

import re
from typing import TYPE_CHECKING
from urllib.parse import unquote, urlsplit

from pyramid.security import NO_PERMISSION_REQUIRED

from authsite.oauth import API_TAG
from authsite.oauth.oidc.availability import is_on
from authsite.platform.http import cors

if TYPE_CHECKING:
    from pyramid.config import Configurator

    from authsite.platform.http.application import HttpApplication

__all__ = ["API_TAG"]

WELL_KNOWN = "/.well-known/oauth-authorization-server"
OPENID = "/.well-known/openid-configuration"


def includeme(config: "Configurator") -> None:
    """The routes of the one document: below the issuer, and for issuers with a path outside of it.

    For the issuer ``https://example.com/auth`` these are ``/auth/.well-known/…`` and
    ``/.well-known/…/auth``, which section 3.1 of RFC 8414 defines. The second one is outside the
    route prefix. With `openid` on all this is also there under the name of OpenID Connect
    Discovery 1.0, section 4.
    """
    names = {"authsite.metadata": WELL_KNOWN}
    if is_on(config.registry["authsite"]):
        names["authsite.openid_configuration"] = OPENID
    for name, pattern in names.items():
        _add(config, name, pattern)
    http: HttpApplication = config.registry["authsite.http"]
    urls = [each.base_url for each in http.addresses]
    paths = {urlsplit(url).path for url in urls} if urls else {http.prefix}
    named = sorted(re.escape(unquote(path).removeprefix("/")) for path in paths if path)
    if named:
        config.route_prefix = None  # this configurator adds nothing else
        for name, pattern in names.items():
            _add(config, f"{name}.path", f"{pattern}/{{issuer_path:{'|'.join(named)}}}")


def _add(config: "Configurator", name: str, pattern: str) -> None:
    cors.open_to_all(config, name)
    config.add_route(name, pattern, errors="json")
    config.add_view(
        ".api.metadata",
        route_name=name,
        request_method="GET",
        permission=NO_PERMISSION_REQUIRED,
    )
