"""The Host header (RFC 9112, section 3.2)."""

import re
from functools import lru_cache
from ipaddress import IPv6Address

from authsite.platform.request_state import Request
from authsite.platform.settings.urls import host_name, is_loopback

from .errors import ApiError
from .own_routes import is_own_request

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
