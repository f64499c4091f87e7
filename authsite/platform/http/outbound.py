"""Requests to other servers: to providers, and later to URLs that other parties have named.

Another server may be slow or hostile, and its name may lead to a private address. So the name is
resolved once, the address is checked, and the connection goes to it, with the certificate of the
name. No redirect is followed, no answer is decompressed and no proxy is used. Time, size and the
number of requests under way are limited (OWASP Server-Side Request Forgery Prevention Cheat Sheet).
"""

import ipaddress
import socket
import threading
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from functools import cache
from queue import Empty, SimpleQueue
from typing import TYPE_CHECKING, NamedTuple

from authsite.platform.db.transaction import is_open_in_thread
from authsite.platform.http.outbound_slots import UNTRUSTED, NoSlot
from authsite.platform.runtime.slots import waiting

if TYPE_CHECKING:
    import ssl

    from urllib3 import HTTPResponse
    from urllib3.connection import HTTPConnection

    from authsite.platform.context import Services


# Where a request goes: the parts of its URL, and the addresses of its host.


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


__all__ = ["UNTRUSTED", "Answer", "NoSlot", "Unreachable", "send"]

SECONDS = 5.0
_HEADERS = {"User-Agent": "authsite", "Accept-Encoding": "identity"}
_PART = 16 * 1024  # bytes that are read at a time


class Answer(NamedTuple):
    """An answer, whatever its status; the names in ``headers`` are in lower case."""

    status: int
    headers: Mapping[str, str]
    body: bytes


class _NotConnected(Unreachable):
    """Another address of the host may accept a connection."""


def send(
    services: "Services",
    slot: str,
    method: str,
    url: str,
    *,
    headers: Mapping[str, str] | None = None,
    body: bytes | None = None,
    limit: int,
    deadline: float = SECONDS,
    public_only: bool = False,
) -> Answer:
    """Send one request and read its whole answer.

    ``slot``: the name of the provider, or `UNTRUSTED`. ``limit``: bytes that the body of the answer
    may have. ``deadline``: seconds for all of it, the name's resolution included. ``public_only``,
    for a URL that an unauthenticated caller has named: https alone, and public addresses alone.
    Otherwise http is for loopback addresses alone: a client secret goes with the request.

    Raises `Unreachable` if there is no such answer, `NoSlot` at once if no slot is free, and
    `RuntimeError` inside a transaction of the request: the answer may take seconds, during which
    others would wait for its locks.
    """
    if is_open_in_thread():
        raise RuntimeError(
            "outbound.send is called inside the transaction of the request: send first, or commit"
            " first (commit_and_begin)"
        )
    ends = time.monotonic() + deadline
    target = target_of(url)
    with services.outbound_slots.taken(slot), waiting():
        addresses = addresses_of(target, ends, public_only=public_only)
        connection = _connected(target, addresses, ends)
        with _cut_at(ends, connection) as is_cut, _failures(target, is_cut):
            sent = {"Host": target.authority, **_HEADERS, **(headers or {})}
            connection.request(
                method, target.path, body, sent, preload_content=False, decode_content=False
            )
            response = connection.getresponse()
            content = _read(response, target, limit)
        return Answer(
            response.status,
            {name.lower(): value for name, value in response.headers.items()},
            content,
        )


def _connected(target: "Target", addresses: list[str], ends: float) -> "HTTPConnection":
    """A connection to the first of ``addresses`` that accepts one."""
    failure = Unreachable(f"{target.authority} did not answer in time")
    for address in addresses:
        # Connecting and the TLS handshake may each take this time.
        seconds = (ends - time.monotonic()) / 2
        if seconds <= 0:
            break
        connection = _connection(target, address, seconds)
        try:
            with _failures(target):
                connection.connect()
        except _NotConnected as error:
            connection.close()
            failure = error
        except Unreachable:
            connection.close()
            raise
        else:
            return connection
    raise failure


def _connection(target: "Target", address: str, seconds: float) -> "HTTPConnection":
    from urllib3.connection import HTTPConnection, HTTPSConnection

    if not target.tls:
        return HTTPConnection(address, target.port, timeout=seconds)
    import ssl

    # The context checks the certificate against `server_hostname`. With `assert_hostname` urllib3
    # would switch that off, and check the name itself.
    paths = ssl.get_default_verify_paths()
    return HTTPSConnection(
        address,
        target.port,
        timeout=seconds,
        ssl_context=_context(paths.cafile, paths.capath),
        server_hostname=target.host,
    )


@cache
def _context(_cafile: str | None, _capath: str | None) -> "ssl.SSLContext":
    """What the machine trusts. Reading all its certificates takes 30 ms."""
    import ssl

    return ssl.create_default_context()


@contextmanager
def _cut_at(ends: float, connection: "HTTPConnection") -> Iterator[threading.Event]:
    """Cut the connection at ``ends``, which sets the event; close it after the block.

    The timeout of a socket is that of one operation: a server that sends a byte each second would
    never exceed it.
    """
    sock, is_cut = connection.sock, threading.Event()
    # urllib3 gives the socket this timeout again before it reads the answer.
    connection.timeout = max(ends - time.monotonic(), 0.001)
    sock.settimeout(connection.timeout)

    def cut() -> None:
        is_cut.set()
        with suppress(OSError):  # the connection was closed in this moment
            # The method of `ssl.SSLSocket` would take the TLS state from the thread that reads.
            socket.socket.shutdown(sock, socket.SHUT_RDWR)

    timer = threading.Timer(ends - time.monotonic(), cut)
    timer.daemon = True
    timer.start()
    try:
        yield is_cut
    finally:
        timer.cancel()
        connection.close()


@contextmanager
def _failures(target: "Target", is_cut: threading.Event | None = None) -> Iterator[None]:
    """Raise `Unreachable` for what sockets, TLS, http.client and urllib3 raise, and after a cut."""
    import ssl
    from http.client import HTTPException

    from urllib3.exceptions import ConnectTimeoutError, HTTPError, NewConnectionError

    where = target.authority
    late = f"{where} did not answer in time"
    try:
        yield
    except NewConnectionError as error:  # in some versions a subclass of the next one
        raise _NotConnected(f"{where} does not accept a connection") from error
    except ConnectTimeoutError as error:
        raise _NotConnected(late) from error
    except TimeoutError as error:
        raise Unreachable(late) from error
    except ssl.SSLCertVerificationError as error:
        raise Unreachable(
            f"the certificate of {where} is not valid: {error.verify_message}"
        ) from error
    except (OSError, HTTPError, HTTPException) as error:
        if is_cut is None or not is_cut.is_set():
            raise Unreachable(f"{where} sent no valid answer ({type(error).__name__})") from error
    if is_cut is not None and is_cut.is_set():  # the cut may look like the end of the body
        raise Unreachable(late)


def _read(response: "HTTPResponse", target: "Target", limit: int) -> bytes:
    """The body, with at most ``limit`` bytes."""
    if response.headers.get("Content-Encoding", "identity") != "identity":
        raise Unreachable(f"{target.authority} sent a compressed answer, which was not asked for")
    body = bytearray()
    while part := response.read(_PART, decode_content=False):
        body += part
        if len(body) > limit:
            raise Unreachable(f"{target.authority} sent more than {limit} bytes")
    return bytes(body)
