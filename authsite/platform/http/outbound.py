"""Requests to other servers: to providers, and later to URLs that other parties have named.

Another server may be slow or hostile, and its name may lead to a private address. So the name is
resolved once, the address is checked, and the connection goes to it, with the certificate of the
name. No redirect is followed, no answer is decompressed and no proxy is used. Time, size and the
number of requests under way are limited (OWASP Server-Side Request Forgery Prevention Cheat Sheet).
"""

import socket
import threading
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from functools import cache
from typing import TYPE_CHECKING, NamedTuple

from authsite.platform.db.transaction import is_open_in_thread
from authsite.platform.http.outbound_addresses import Unreachable, addresses_of, target_of
from authsite.platform.http.outbound_slots import UNTRUSTED, NoSlot
from authsite.platform.runtime.slots import waiting

if TYPE_CHECKING:
    import ssl

    from urllib3 import HTTPResponse
    from urllib3.connection import HTTPConnection

    from authsite.platform.context import Services
    from authsite.platform.http.outbound_addresses import Target

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
