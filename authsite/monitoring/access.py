"""Access to ``/metrics``: from this machine, and with the token of setting `metrics-token`."""

import hmac
import re
from ipaddress import ip_address

from authsite.http.errors import ApiError, NotFound
from authsite.http.request_info import peer
from authsite.request_state import Request

_BEARER = re.compile(r"bearer +(.{1,512})", re.IGNORECASE)
# A proxy adds them: then the peer is the proxy, and not who asks.
_FORWARDING = ("HTTP_FORWARDED", "HTTP_VIA", "HTTP_X_REAL_IP")


class MetricsTokenRequired(ApiError):
    """The request has no bearer token, or not that of setting `metrics-token`."""

    status = 401
    code = "unauthenticated"
    message = "Send the value of setting metrics-token as a bearer token."
    listed = False

    def __init__(self) -> None:
        super().__init__(headers={"WWW-Authenticate": 'Bearer realm="authsite metrics"'})


def require_access(request: Request) -> None:
    """Return if the caller may read the metrics.

    Raises `MetricsTokenRequired`; without a `metrics-token` `NotFound`, as if there were nothing.
    """
    if _is_local(request):
        return
    token = request.authsite.settings.metrics_token
    if token is None:
        raise NotFound
    sent = _BEARER.fullmatch(request.environ.get("HTTP_AUTHORIZATION", ""))
    if sent is None or not hmac.compare_digest(sent[1].encode("latin-1"), token.reveal().encode()):
        raise MetricsTokenRequired


def _is_local(request: Request) -> bool:
    """Whether a process of this machine asks, without a proxy in between."""
    if any(name in _FORWARDING or name.startswith("HTTP_X_FORWARDED_") for name in request.environ):
        return False
    address = peer(request)
    if address is None:
        return False
    ip = ip_address(address)
    # A server that listens on :: gets IPv4 addresses in this form.
    return (getattr(ip, "ipv4_mapped", None) or ip).is_loopback
