"""Where a request goes: the parts of its URL, and the addresses of its host."""

import ipaddress
import socket
import threading
import time
from queue import Empty, SimpleQueue
from typing import NamedTuple

Address = ipaddress.IPv4Address | ipaddress.IPv6Address
Resolved = list[str] | OSError

_GLOBAL_UNICAST = ipaddress.IPv6Network("2000::/3")  # RFC 4291, section 2.4
# Whether these are global depends on the version of Python.
_NOT_PUBLIC = tuple(
    map(
        ipaddress.ip_network,
        (
            "192.0.0.0/24",  # RFC 6890, section 2.2.2; a cloud has its metadata there
            "192.88.99.0/24",  # RFC 7526: relays of 6to4
            "168.63.129.16/32",  # the platform of Azure, from inside alone
            "2001::/23",  # RFC 2928; Teredo is in it (RFC 4380)
            "2002::/16",  # RFC 3056: 6to4, which has an IPv4 address inside
            "3fff::/20",  # RFC 9637: documentation
        ),
    )
)


class Unreachable(Exception):
    """There is no answer that can be used. ``reason`` is for operators, not for persons."""

    def __init__(self, reason: str) -> None:
        self.reason = reason
        super().__init__(reason)


class Target(NamedTuple):
    """The parts of a URL. ``authority`` is host and port as the header `Host` has them."""

    tls: bool
    host: str
    port: int
    authority: str
    path: str


def target_of(url: str) -> Target:
    """The parts of an absolute http or https URL.

    Raises `Unreachable` for any other text, and for a URL with user information.
    """
    from urllib3.exceptions import HTTPError
    from urllib3.util import parse_url

    try:
        parts = parse_url(url)
    except HTTPError as error:
        raise Unreachable("the URL cannot be parsed") from error
    if parts.scheme not in ("http", "https") or not parts.host or parts.auth is not None:
        raise Unreachable("the URL is not https://host/path")
    tls = parts.scheme == "https"
    port = parts.port or (443 if tls else 80)
    authority = parts.host if parts.port is None else f"{parts.host}:{parts.port}"
    return Target(tls, parts.host.strip("[]"), port, authority, parts.request_uri)


def addresses_of(target: Target, ends: float, *, public_only: bool) -> list[str]:
    """The addresses of the host, each of which may be connected to.

    One address that is not allowed excludes the whole name. Raises `Unreachable`.
    """
    if public_only and not target.tls:
        raise Unreachable(f"the URL of {target.authority} does not begin with https://")
    addresses = _resolve(target, ends - time.monotonic())
    for each in addresses:
        address = ipaddress.ip_address(each)
        if public_only and not is_public(address):
            raise Unreachable(f"{target.authority} has an address that is not public: {address}")
        if not target.tls and not address.is_loopback:
            raise Unreachable(
                f"{target.authority} is not this machine, so its URL must be https://"
            )
    return addresses


def is_public(address: Address) -> bool:
    """Whether it is a unicast address of the public internet.

    Not one that has an IPv4 address inside, such as ``::ffff:127.0.0.1``: where that leads, its
    network decides.
    """
    if address.is_multicast or not address.is_global or any(address in n for n in _NOT_PUBLIC):
        return False
    return isinstance(address, ipaddress.IPv4Address) or address in _GLOBAL_UNICAST


def _resolve(target: Target, seconds: float) -> list[str]:
    """All addresses of the host, resolved once.

    The resolver of the machine has its own time limit, which is longer than ours: it works in
    another thread.
    """
    results: SimpleQueue[Resolved] = SimpleQueue()
    threading.Thread(
        target=lambda: results.put(_looked_up(target)), name="authsite-resolver", daemon=True
    ).start()
    try:
        found = results.get(timeout=max(seconds, 0))
    except Empty:
        raise Unreachable(f"the name {target.host} was not resolved in time") from None
    if isinstance(found, OSError):
        raise Unreachable(f"the name {target.host} cannot be resolved") from found
    return found


def _looked_up(target: Target) -> Resolved:
    try:
        found = socket.getaddrinfo(target.host, target.port, type=socket.SOCK_STREAM)
    except UnicodeError as error:  # a label of more than 63 characters
        return OSError(str(error))
    except OSError as error:
        return error
    return list(dict.fromkeys(str(sockaddr[0]) for *_, sockaddr in found))
