"""Requests from this machine."""

from ipaddress import ip_address

from authsite.request_state import Request
from authsite.settings.urls import host_name, is_loopback

from .host import is_host
from .request_info import peer

# A proxy adds them: then the peer is the proxy, and not who asks.
_FORWARDING = ("HTTP_FORWARDED", "HTTP_VIA", "HTTP_X_REAL_IP")


def is_local(request: Request) -> bool:
    """Whether a program of this machine asks, by a name of this machine and without a proxy.

    The ``Host`` excludes a browser that was led here by another site's name (DNS rebinding).
    """
    environ = request.environ
    if any(name in _FORWARDING or name.startswith("HTTP_X_FORWARDED_") for name in environ):
        return False
    return _is_loopback_peer(peer(request)) and _is_loopback_host(environ.get("HTTP_HOST", ""))


def _is_loopback_peer(address: str | None) -> bool:
    if address is None:
        return False
    ip = ip_address(address)
    # A server that listens on :: gets IPv4 addresses in this form.
    return (getattr(ip, "ipv4_mapped", None) or ip).is_loopback


def _is_loopback_host(header: str) -> bool:
    if not is_host(header):
        return False
    bracketed = header.startswith("[")
    name = header[1:].partition("]")[0] if bracketed else header.partition(":")[0]
    try:
        return is_loopback(host_name(name))
    except ValueError:  # such as 127.1, which is no address here
        return False


class LocalPredicate:
    """The option ``local`` of a route: requests that are not `is_local` find no such path."""

    def __init__(self, value: bool, _config: object) -> None:
        self._value = value

    def text(self) -> str:
        """What Pyramid shows of it."""
        return f"local = {self._value}"

    phash = text

    def __call__(self, _info: object, request: Request) -> bool:
        """Whether the route may match."""
        return is_local(request) == self._value
