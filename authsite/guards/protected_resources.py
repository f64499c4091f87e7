"""Protected resources: what of a host application has tokens for itself alone (RFC 9728).

A client that knows nothing but the URL of a resource, such as an agent that meets an MCP server,
asks without a token. The response names the metadata of the resource, and these the authorization
server. Every API route of the host at the resource's path or below accepts the tokens for this
resource, and no others: one that was made for another service must not work here, and one from here
must not work there (RFC 8707, section 2).
"""

import json
from collections.abc import Collection, Iterable
from functools import partial
from typing import TYPE_CHECKING, NamedTuple
from urllib.parse import unquote_to_bytes, urlsplit

from pyramid.exceptions import ConfigurationError
from pyramid.response import Response
from pyramid.security import NO_PERMISSION_REQUIRED

from authsite.oauth import resources
from authsite.oauth.oidc.id_tokens import issuer_of
from authsite.platform.http import cors
from authsite.platform.http.cached_response import (
    FIVE_MINUTES,
    CachedResponse,
    respond_from_cache,
)
from authsite.platform.http.errors import ApiError
from authsite.platform.http.own_routes import is_own
from authsite.platform.registrations import Registered
from authsite.platform.request_state import Request
from authsite.users.caller import Caller

from .route_options import Rules, is_scope

if TYPE_CHECKING:
    from pyramid.config import Configurator

WELL_KNOWN = "/.well-known/oauth-protected-resource"
CHALLENGE = "WWW-Authenticate"


class ProtectedResource(NamedTuple):
    """A resource of the host. ``path``: without a slash at its end; empty for the whole host."""

    uri: str
    path: str
    scopes: tuple[str, ...]
    name: str | None

    @property
    def folder(self) -> bytes:
        """What the path of each of its requests begins with, decoded."""
        return unquote_to_bytes(f"{self.path}/")

    @property
    def metadata_path(self) -> str:
        """The path of the metadata: between host and path of the resource (section 3.1)."""
        return f"{WELL_KNOWN}{self.path}"

    @property
    def metadata_url(self) -> str:
        """The URL of the metadata."""
        parts = urlsplit(self.uri)
        return f"{parts.scheme}://{parts.netloc}{self.metadata_path}"


RESOURCES = Registered[ProtectedResource]("protected resources")


def add_protected_resource(
    config: "Configurator", uri: str, scopes: str = "", name: str | None = None
) -> None:
    """Directive: the API routes of the host at the path of ``uri`` and below are this resource.

    ``uri``: the resource as `authsite resource add` has it. ``scopes``: those that its clients may
    need, separated by spaces. ``name``: for people. Call it after ``include("authsite")``. Raises
    `ConfigurationError`.
    """
    try:
        resources.check(uri)
    except ValueError as error:
        raise ConfigurationError(f"add_protected_resource({uri!r}): {error}") from None
    parts = urlsplit(uri)
    if parts.scheme not in ("http", "https") or parts.query:
        raise ConfigurationError(
            f"add_protected_resource({uri!r}): give a URL without a query, such as "
            "https://mcp.example.com/mcp"
        )
    if scopes and not is_scope(scopes):
        raise ConfigurationError(
            f"add_protected_resource({uri!r}): give scopes as one text, separated by spaces"
        )
    if not config.registry["authsite"].settings.base_url:
        raise ConfigurationError(
            f"add_protected_resource({uri!r}): set base-url, which is the authorization server"
        )
    resource = ProtectedResource(uri, parts.path.rstrip("/"), tuple(scopes.split()), name)
    RESOURCES.add(config, resource, resource.path)
    route = f"authsite.protected_resource.{resource.path}"
    # Outside of a route prefix: the place is that of the URI.
    with config.route_prefix_context(None):
        config.add_route(route, resource.metadata_path, errors="json")
    cors.open_to_all(config, route)
    config.add_view(
        partial(_metadata, resource),
        route_name=route,
        request_method="GET",
        permission=NO_PERMISSION_REQUIRED,
    )


def _metadata(resource: ProtectedResource, request: Request) -> Response:
    """The metadata (section 2)."""
    found = {
        "resource": resource.uri,
        "authorization_servers": [issuer_of(request.authsite.services)],
        "scopes_supported": list(resource.scopes) or None,
        "bearer_methods_supported": ["header"],
        "resource_name": resource.name,
    }
    text = json.dumps({name: value for name, value in found.items() if value is not None})
    return respond_from_cache(
        request, CachedResponse(text.encode(), "application/json"), FIVE_MINUTES
    )


def resource_of(request: Request) -> ProtectedResource | None:
    """The resource that a request to the host is for: the one with the longest path."""
    return _at(request, _resources_of(request), _path_of(request))


def is_for_other(request: Request, caller: Caller) -> bool:
    """Whether the token is for another resource than the request, or for one or none alone.

    A path such as ``/x/../mcp`` is read by its letters here, and by its segments where Pyramid
    traverses it, or a proxy stands in front of us. Where the two differ, no token fits.
    """
    if caller.guard != "api":
        return False
    registered = _resources_of(request)
    if not registered:
        return caller.audience is not None
    path = _path_of(request)
    resource = _at(request, registered, path)
    if resource != _at(request, registered, _normalized(path)):
        return True
    if resource is None or caller.audience is None:
        return caller.audience is not None or resource is not None
    return not resources.is_same(resource.uri, caller.audience)


def _resources_of(request: Request) -> Collection[ProtectedResource]:
    """Those of the host; none for a route of authsite itself."""
    registered = RESOURCES.of(request.authsite.services).values()
    return () if registered and is_own(request.matched_route.name) else registered


def _path_of(request: Request) -> bytes:
    environ = request.environ
    return f"{environ['SCRIPT_NAME']}{environ['PATH_INFO']}/".encode("latin-1")  # PEP 3333


def _at(
    request: Request, registered: Iterable[ProtectedResource], path: bytes
) -> ProtectedResource | None:
    """The resource at ``path``; if there is none, at the path below that of `base-url`.

    A proxy may have stripped the latter.
    """
    for place in (path, unquote_to_bytes(request.authsite.address.mount) + path):
        found = [each for each in registered if place.startswith(each.folder)]
        if found:
            return max(found, key=lambda each: len(each.path))
    return None


def _normalized(path: bytes) -> bytes:
    """The path without dot segments and empty ones (RFC 3986, section 6.2.2.3)."""
    segments: list[bytes] = []
    for each in path.split(b"/"):
        if each == b"..":
            del segments[-1:]
        elif each not in (b"", b"."):
            segments.append(each)
    return b"".join(b"/" + each for each in segments) + b"/"


def name_metadata(request: Request, rules: Rules, error: ApiError) -> None:
    """Add the metadata of the resource to the challenge (section 5.1), and at a 401 the scopes."""
    challenge = error.headers.get(CHALLENGE, "")
    resource = resource_of(request) if challenge.startswith("Bearer") else None
    if resource is None:
        return
    unnamed = error.status == 401 and rules.scope and "scope=" not in challenge
    scope = f', scope="{rules.scope}"' if unnamed else ""
    error.headers[CHALLENGE] = f'{challenge}{scope}, resource_metadata="{resource.metadata_url}"'
