"""Authorization server metadata (RFC 8414), from which clients read the endpoints and methods."""

import re
from typing import TYPE_CHECKING
from urllib.parse import unquote, urlsplit

from pyramid.security import NO_PERMISSION_REQUIRED

from authsite.oauth import API_TAG
from authsite.platform.http import cors

if TYPE_CHECKING:
    from pyramid.config import Configurator

    from authsite.platform.http.application import HttpApplication

__all__ = ["API_TAG"]

WELL_KNOWN = "/.well-known/oauth-authorization-server"


def includeme(config: "Configurator") -> None:
    """The route below the issuer, and for issuers with a path the one that section 3.1 defines.

    For the issuer ``https://example.com/auth`` these are ``/auth/.well-known/…`` and
    ``/.well-known/…/auth``. The second one is outside the route prefix.
    """
    routes = {"authsite.metadata": WELL_KNOWN}
    http: HttpApplication = config.registry["authsite.http"]
    urls = [each.base_url for each in http.addresses]
    paths = {urlsplit(url).path for url in urls} if urls else {http.prefix}
    if named := sorted(re.escape(unquote(path).removeprefix("/")) for path in paths if path):
        routes["authsite.metadata.path"] = f"{WELL_KNOWN}/{{issuer_path:{'|'.join(named)}}}"
    for name, pattern in routes.items():
        config.add_route(name, pattern, errors="json")
        cors.open_to_all(config, name)
        config.add_view(
            ".api.metadata",
            route_name=name,
            request_method="GET",
            permission=NO_PERMISSION_REQUIRED,
        )
        config.route_prefix = None  # for the second route; this configurator adds nothing else
