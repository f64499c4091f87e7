"""The application's own address, on which links, redirects and cookies depend.

It comes from setting `base-url`, else from the headers of a trusted proxy, else from the ``Host``
header. WebOb makes a relative ``Location`` absolute from the WSGI environment, whose scheme is
``http`` behind a proxy that terminates TLS. So the tween makes it absolute first.
"""

import re
from collections.abc import Sequence
from dataclasses import replace
from functools import lru_cache
from ipaddress import IPv6Address
from urllib.parse import quote, unquote, unquote_to_bytes

from pyramid.exceptions import URLDecodeError
from pyramid.interfaces import IRoutesMapper

from authsite.platform.request_state import Request
from authsite.platform.settings.urls import host_name, is_loopback

from .address_value import DEFAULT_PORT, Address, origin_of
from .application import HttpApplication
from .errors import ApiError
from .own_routes import is_own_request
from .proxies import nearest

# The Host header (RFC 9112, section 3.2).


_MAX_HOST = 255  # characters; RFC 1035, section 2.3.4
_HOST = re.compile(r"(?:[A-Za-z0-9._-]+|\[([0-9A-Fa-f:.]+)\])(?::([0-9]{1,5}))?")


class BadHost(ApiError):
    summary = "The Host header is malformed, repeated, too long or missing."
    status = 400
    code = "invalid_request"
    message = "Send one Host header, with a host name or address and perhaps a port."


def own_host(request: Request) -> str:
    """The ``Host`` header if it is valid, else the name and port of the server."""
    header: str = request.environ.get("HTTP_HOST", "")
    if is_host(header):
        return header
    name, port = request.environ["SERVER_NAME"], request.environ["SERVER_PORT"]
    return f"[{name}]:{port}" if ":" in name else f"{name}:{port}"


def asks_for_this_machine(request: Request) -> bool:
    """Whether the ``Host`` header is a loopback name or address (RFC 6761, section 6.3).

    A page whose name was rebound to a loopback address sends its own name.
    """
    found = _HOST.fullmatch(request.environ.get("HTTP_HOST", ""))
    if found is None:
        return False
    address, port = found.groups()
    name = address or found[0].removesuffix(f":{port}")
    try:
        return is_loopback(host_name(name))
    except ValueError:
        return False


@lru_cache(maxsize=64)  # called twice per request, mostly with the same value
def is_host(value: str) -> bool:
    """Whether ``value`` is a host name or IP address with an optional port, as in a URL."""
    found = _HOST.fullmatch(value) if len(value) <= _MAX_HOST else None
    if found is None:
        return False
    address, port = found.groups()
    try:
        return int(port or 0) <= 65535 and bool(address is None or IPv6Address(address))
    except ValueError:
        return False


def reject_bad_host(request: Request) -> None:
    """For every own request, before any guard: raise `BadHost` for an invalid Host header.

    Before HTTP/1.1 it may be missing.
    """
    header: str = request.environ.get("HTTP_HOST", "")
    if is_host(header) or (not header and request.environ.get("SERVER_PROTOCOL") != "HTTP/1.1"):
        return
    if is_own_request(request):
        if request.authsite.error_format == "html":
            request.authsite.error_format = "json"  # no browser sends an invalid header
        raise BadHost


_PATH_SAFE = "/~!$&'()*+,;=:@"


def address(request: Request) -> Address:
    """``request.authsite.address``: the configured address of this request, else the request's own.

    The mount path of the server (``SCRIPT_NAME``) counts unless `base-url` has a path.
    """
    http: HttpApplication = request.registry["authsite.http"]
    mount = quote(request.script_name, safe=_PATH_SAFE) if request.script_name else ""
    if http.addresses:
        own = _best_match(request, http.addresses)
        return replace(own, mount=mount) if mount and not own.mount else own
    scheme, host = scheme_and_host(request)
    return Address(origin_of(scheme, host), mount, http.prefix)


def base_urls(request: Request) -> tuple[str, ...]:
    """The base URLs of all configured addresses; that of this request comes first."""
    others = (each.base_url for each in request.registry["authsite.http"].addresses)
    return tuple(dict.fromkeys((request.authsite.address.base_url, *others)))


def _best_match(request: Request, addresses: Sequence[Address]) -> Address:
    """The address of the request: by host, then by scheme, then by mount path; else the first."""
    if len(addresses) == 1:
        return addresses[0]
    scheme, host = scheme_and_host(request)
    path = request.environ.get("SCRIPT_NAME", "") + request.environ["PATH_INFO"]

    def has_host(each: Address) -> bool:
        own_scheme, _, own_host = each.origin.partition("://")
        return host.lower().removesuffix(DEFAULT_PORT[own_scheme]) == own_host

    def similarity(each: Address) -> tuple[bool, int]:
        below = _is_below(path, _decoded(each.mount))
        return each.origin.startswith(f"{scheme}:"), len(each.mount) if below else -1

    return max(filter(has_host, addresses), key=similarity, default=addresses[0])


def scheme_and_host(request: Request) -> tuple[str, str]:
    """The scheme and host that a trusted proxy has forwarded, else those of the request."""
    scheme, host = request.scheme, own_host(request)
    if request.authsite.through_trusted_proxy:
        is_scheme = DEFAULT_PORT.__contains__
        scheme = nearest(request, "X-Forwarded-Proto", "proto", is_scheme) or scheme
        host = nearest(request, "X-Forwarded-Host", "host", is_host) or host
    return scheme, host


def take_mount(request: Request) -> None:
    """Move the path of `base-url` from ``PATH_INFO`` to ``SCRIPT_NAME``, before routing.

    A proxy may have removed it already. If the whole path is a route, it has: with the mount path
    ``/authsite``, ``/authsite/static/…`` is the route of a static file.
    """
    mount, environ = _decoded(request.authsite.address.mount), request.environ
    if environ.get("SCRIPT_NAME", "") == mount:
        return
    if _is_below(environ["PATH_INFO"], mount) and not _is_route(request):
        environ["PATH_INFO"] = environ["PATH_INFO"][len(mount) :]
    environ["SCRIPT_NAME"] = mount


def _is_route(request: Request) -> bool:
    mapper = request.registry.getUtility(IRoutesMapper)
    try:
        return mapper(request)["route"] is not None
    except URLDecodeError:
        return False


def _decoded(mount: str) -> str:
    """A path as in the WSGI environment: decoded, with one character for each byte (PEP 3333)."""
    return unquote_to_bytes(mount).decode("latin-1")


def _is_below(path: str, mount: str) -> bool:
    return path == mount or path.startswith(f"{mount}/")


def route_path(request: Request, name: str, /, **parts: object) -> str:
    """The URL path of a route, with the mount path."""
    path: str = request.route_url(name, _app_url=request.authsite.address.mount, **parts)
    return path


def base_path(request: Request, name: str) -> str:
    """The URL path of a route without parts, below the base URL."""
    own = request.authsite.address
    return route_path(request, name).removeprefix(f"{own.mount}{own.prefix}")


def path_qs(request: Request) -> str:
    """The path and query of this request, percent-encoded, with the mount path."""
    mounted = quote(request.script_name, safe=_PATH_SAFE)
    return f"{request.authsite.address.mount}{request.path_qs.removeprefix(mounted)}"


def inner_path(request: Request, path: str) -> str:
    """``path`` as routes match it: decoded, without the mount path."""
    return unquote(path).removeprefix(unquote(request.authsite.address.mount))


def absolute(request: Request, location: str) -> str:
    """``location`` for a ``Location`` header: a path becomes a URL of our own origin."""
    return f"{request.authsite.address.origin}{location}" if location[:1] == "/" else location
