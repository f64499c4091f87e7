"""Requests from this machine."""

from ipaddress import ip_address

from authsite.platform.request_state import Request

from .address import asks_for_this_machine
from .request_facts import peer

# Proxies add these headers: then the peer of the connection is the proxy, not the caller.
_FORWARDING = frozenset(
    {
        "HTTP_CF_CONNECTING_IP",
        "HTTP_FORWARDED",
        "HTTP_TRUE_CLIENT_IP",
        "HTTP_VIA",
        "HTTP_X_CLIENT_IP",
        "HTTP_X_ENVOY_EXTERNAL_ADDRESS",
        "HTTP_X_ORIGINAL_URL",
        "HTTP_X_REAL_IP",
    }
)


def is_local(request: Request) -> bool:
    """Whether a program of this machine asks, by a name of this machine and without a proxy.

    The ``Host`` excludes a browser that was led here by another site's name (DNS rebinding).
    """
    if any(name in _FORWARDING or name.startswith("HTTP_X_FORWARDED_") for name in request.environ):
        return False
    address = peer(request)
    if address is None or not asks_for_this_machine(request):
        return False
    return ip_address(address).is_loopback


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
