"""The headers of reverse proxies, which count only from the addresses in `trusted-proxies`.

These are ``X-Forwarded-For``, ``-Proto`` and ``-Host``, or RFC 7239 ``Forwarded`` if there is no
``X-Forwarded-For``. For other peers, the peer is the client and the headers are ignored.
"""

from collections.abc import Callable, Iterator
from ipaddress import ip_address

from authsite.platform.request_state import Request

from .request_facts import canonical, peer

_MAX_HOPS = 20  # the nearest ones; a client can send any number before them
_MAX_PAIRS = 10  # of one hop; RFC 7239 defines four


def through_trusted_proxy(request: Request) -> bool:
    """Whether the peer of the connection is a trusted proxy."""
    return bool(request.authsite.settings.trusted_proxies) and _trusted(request, peer(request))


def client_address(request: Request) -> str | None:
    """The address of the client: the right-most forwarded one that is not a trusted proxy.

    With ``trusted-proxies = *`` only the peer counts as a proxy, so the client is the right-most
    entry, which the peer has added.
    """
    address = peer(request)
    if not request.authsite.through_trusted_proxy:
        return address
    for entry in reversed(_forwarded_for(request)):
        hop = _address(entry)
        if hop is None:
            return address  # malformed: the entry of the last trusted proxy counts
        address = hop
        if request.authsite.settings.trusted_proxies == ("*",) or not _trusted(request, hop):
            return hop
    return address


def _trusted(request: Request, address: str | None) -> bool:
    proxies = request.authsite.settings.trusted_proxies
    if address is None:
        return False
    if proxies == ("*",):
        return True
    ip = ip_address(address)
    return any(ip in network for network in proxies)


def _forwarded_for(request: Request) -> list[str]:
    header: str | None = request.headers.get("X-Forwarded-For")
    if header is not None:
        return header.rsplit(",", _MAX_HOPS)[-_MAX_HOPS:]
    return [hop["for"] for hop in _forwarded(request) if "for" in hop]


def nearest(request: Request, header: str, name: str, accept: Callable[[str], bool]) -> str | None:
    """The value of ``header``, or of ``name`` in Forwarded, that the nearest proxy has added.

    None unless ``accept`` returns True for it.
    """
    value = request.headers.get(header, "").rpartition(",")[2].strip()
    if not value and "X-Forwarded-For" not in request.headers:
        *_, last = _forwarded(request)  # a client can send the other hops itself
        value = last.get(name, "")
    return value if accept(value) else None


def _forwarded(request: Request) -> Iterator[dict[str, str]]:
    """The nearest hops of ``Forwarded`` (RFC 7239, section 4), left to right."""
    elements = request.headers.get("Forwarded", "").rsplit(",", _MAX_HOPS)
    for element in elements[-_MAX_HOPS:]:
        pairs = (pair.partition("=") for pair in element.split(";", _MAX_PAIRS)[:_MAX_PAIRS])
        yield {name.strip().lower(): value.strip().strip('"') for name, _, value in pairs}


def _address(entry: str) -> str | None:
    """An entry (``192.0.2.1``, ``192.0.2.1:80``, ``[2001:db8::1]:80``) as an address."""
    entry = entry.strip()
    if entry.startswith("["):
        entry = entry[1:].partition("]")[0]
    elif entry.count(":") == 1:
        entry = entry.partition(":")[0]
    if "%" in entry:
        return None  # the zone of another machine, of any length
    return canonical(entry)
