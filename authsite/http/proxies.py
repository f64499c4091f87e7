"""What a reverse proxy says of the request, believed only from `trusted-proxies`.

``X-Forwarded-For``, ``-Proto`` and ``-Host``, or RFC 7239 ``Forwarded`` where no
``X-Forwarded-For`` was sent. From anyone else they are noise: the peer is the client, and the
request's own scheme and host stand.
"""

import re
from collections.abc import Iterator
from ipaddress import ip_address
from typing import Any

from .source import peer

_HOST = re.compile(r"[A-Za-z0-9._-]+(:\d{1,5})?|\[[0-9A-Fa-f:.]+\](:\d{1,5})?")
_PAIR = re.compile(r'\s*([A-Za-z]+)=("(?:[^"\\]|\\.)*"|[^;,"\s]+)\s*')


def through_trusted_proxy(request: Any) -> bool:
    """Whether the peer of the connection is one of our proxies."""
    return bool(request.cfg.trusted_proxies) and _trusted(request, peer(request))


def client_address(request: Any) -> str | None:
    """The address of the client: the right-most forwarded one that is not a proxy of ours.

    With ``trusted-proxies = *`` only the peer is taken for a proxy, so the right-most entry
    (the one the peer itself wrote) is the client.
    """
    address = peer(request)
    if not request.through_trusted_proxy:
        return address
    for entry in reversed(_forwarded_for(request)):
        hop = _address(entry)
        if hop is None:
            return address  # rubbish: what the last proxy of ours wrote still holds
        address = hop
        if request.cfg.trusted_proxies == ("*",) or not _trusted(request, hop):
            return hop
    return address


def base_url(request: Any) -> str:
    """Scheme, host and prefix of our own addresses, without a trailing slash and usual port."""
    if request.cfg.base_url:
        return str(request.cfg.base_url)
    scheme, host = request.scheme, request.host
    if request.through_trusted_proxy:
        scheme = _last(request, "X-Forwarded-Proto", "proto", {"http", "https"}.__contains__) or (
            scheme
        )
        host = _last(request, "X-Forwarded-Host", "host", _HOST.fullmatch) or host
    # As browsers write an origin (RFC 6454, section 6.2), whatever the Host header says.
    host = host.removesuffix(":443" if scheme == "https" else ":80")
    return f"{scheme}://{host}{request.script_name}".rstrip("/")


def _trusted(request: Any, address: str | None) -> bool:
    proxies = request.cfg.trusted_proxies
    if address is None or not proxies:
        return False
    if proxies == ("*",):
        return True
    found = ip_address(address)
    found = getattr(found, "ipv4_mapped", None) or found  # a server that listens on :: has these
    return any(found in network for network in proxies)


def _forwarded_for(request: Any) -> list[str]:
    header: str | None = request.headers.get("X-Forwarded-For")
    if header is not None:
        return header.split(",")
    return [hop["for"] for hop in _forwarded(request) if "for" in hop]


def _last(request: Any, header: str, name: str, accept: Any) -> str | None:
    """The value that the nearest proxy wrote, if it is acceptable."""
    value = request.headers.get(header, "").rpartition(",")[2].strip()
    if not value and "X-Forwarded-For" not in request.headers:
        *_, nearest = _forwarded(request)  # what hops before it wrote may be the client's own
        value = nearest.get(name, "")
    return value if accept(value) else None


def _forwarded(request: Any) -> Iterator[dict[str, str]]:
    """The hops of ``Forwarded`` (RFC 7239, section 4), left to right."""
    for element in request.headers.get("Forwarded", "").split(","):
        yield {name.lower(): value.strip('"') for name, value in _PAIR.findall(element)}


def _address(entry: str) -> str | None:
    """An entry (``192.0.2.1``, ``192.0.2.1:80``, ``[2001:db8::1]:80``) as an address."""
    entry = entry.strip()
    if entry.startswith("["):
        entry = entry[1:].partition("]")[0]
    elif entry.count(":") == 1:
        entry = entry.partition(":")[0]
    if "%" in entry:
        return None  # a zone of another machine: means nothing here, and has any length
    try:
        return str(ip_address(entry))
    except ValueError:
        return None
