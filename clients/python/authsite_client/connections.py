"""HTTP to authsite: kept-alive connections, one deadline, bounded responses, no redirects."""

import http.client
import math
import os
import ssl
from collections import deque
from collections.abc import Mapping
from dataclasses import dataclass
from email.message import Message
from typing import NamedTuple
from urllib.parse import urlsplit

from .deadline import TimedSocket
from .errors import Unreachable

MAX_RESPONSE = 64 * 1024  # bytes
MAX_IDLE = 16  # connections
_LOOPBACK = ("localhost", "127.0.0.1", "::1")


@dataclass(frozen=True)
class Service:
    """Where authsite is, and how to reach it.

    ``url`` is authsite's base URL, with its path if it has one. ``timeout`` is the time in seconds
    to connect, and then for the whole exchange. TLS certificates are always verified: by the
    authorities in ``ca_file`` alone, if it is given. Plain http is for this machine, unless
    ``allow_http`` says otherwise. Raises ValueError for a URL that cannot be used.
    """

    url: str
    timeout: float = 3.0
    ca_file: str | None = None
    allow_http: bool = False

    def __post_init__(self) -> None:
        parts = urlsplit(self.url)
        if parts.scheme not in ("https", "http") or not parts.hostname:
            raise ValueError(f"{self.url!r} is not the https URL of a server")
        if parts.username is not None or parts.query or parts.fragment:
            raise ValueError("the URL of the service may have no user, query or fragment")
        parts.hostname.encode("idna")  # ValueError here and not in a request, as for the port
        _ = parts.port
        if parts.scheme == "http" and not self.allow_http and parts.hostname not in _LOOPBACK:
            raise ValueError(f"{self.url!r} is not https: tokens would be sent in the clear")
        if self.timeout <= 0:
            raise ValueError("the timeout is not a positive number of seconds")

    @classmethod
    def of(cls, service: "str | Service", timeout: float) -> "Service":
        """``service`` itself, or the service at this URL with this timeout."""
        return cls(service, timeout) if isinstance(service, str) else service


class Request(NamedTuple):
    """What is sent; ``path`` starts with ``/v1``.

    With ``repeatable`` the request may be sent over a kept-alive connection, and a second time if
    the server has closed that. Other requests use new connections, so they are sent once.
    ``timeout`` is in seconds, if it is shorter than that of the service.
    """

    method: str
    path: str
    headers: Mapping[str, str]
    body: bytes | None = None
    repeatable: bool = True
    timeout: float = math.inf


class Response(NamedTuple):
    """What came back, whatever its status."""

    status: int
    headers: Message
    body: bytes

    @property
    def is_success(self) -> bool:
        """Whether the status is 2xx."""
        return 200 <= self.status < 300

    @property
    def retry_after(self) -> int | None:
        """The seconds of the header Retry-After, if it has a number."""
        value = self.headers.get("Retry-After", "")
        return int(value) if value.isascii() and value.isdigit() and len(value) < 10 else None


class Connections:
    """The connections of one process to one service; any thread may use them."""

    def __init__(self, service: Service) -> None:
        parts = urlsplit(service.url)
        self._host, self._port = parts.hostname or "", parts.port
        self._prefix = parts.path.rstrip("/")
        self._timeout = service.timeout
        self._tls = None
        if parts.scheme == "https":
            self._tls = ssl.create_default_context(cafile=service.ca_file)
        self._idle: deque[http.client.HTTPConnection] = deque()
        self._process = os.getpid()

    def send(self, request: Request) -> Response:
        """The response to ``request``. Raises `Unreachable`."""
        if self._process != os.getpid():
            # After a fork two processes would read from one connection. Closing ours ends nothing.
            self.close()
            self._process = os.getpid()
        try:
            if request.repeatable and self._idle:
                response = self._send_again(request)
                if response is not None:
                    return response
            return self._exchange(self._connect(request), request)
        except (OSError, http.client.HTTPException) as error:
            reason = str(error) or type(error).__name__
            raise Unreachable(f"no usable response from {self._host}: {reason}") from error

    def close(self) -> None:
        """Close the idle connections; the next request opens a new one."""
        while self._idle:
            try:
                self._idle.pop().close()
            except IndexError:  # another thread was faster
                return

    def _send_again(self, request: Request) -> Response | None:
        """The response over an idle connection; None if there is none, or the server closes it."""
        connection = self._pop_idle()
        if connection is None:
            return None
        try:
            return self._exchange(connection, request)
        except (ConnectionError, ssl.SSLEOFError, ssl.SSLZeroReturnError):
            self.close()  # the others are as old, and the server may have restarted
            return None

    def _pop_idle(self) -> http.client.HTTPConnection | None:
        """An idle connection that is open, and on which nothing arrived that was not requested."""
        while self._idle:
            try:
                connection = self._idle.pop()
            except IndexError:  # another thread was faster
                return None
            if isinstance(connection.sock, TimedSocket) and connection.sock.is_idle():
                return connection
            connection.close()
        return None

    def _connect(self, request: Request) -> http.client.HTTPConnection:
        timeout = min(self._timeout, request.timeout)
        if self._tls:
            connection: http.client.HTTPConnection = http.client.HTTPSConnection(
                self._host, self._port, timeout=timeout, context=self._tls
            )
        else:
            connection = http.client.HTTPConnection(self._host, self._port, timeout=timeout)
        try:
            connection.connect()
        except BaseException:
            connection.close()
            raise
        connection.sock = TimedSocket(connection.sock)
        return connection

    def _exchange(self, connection: http.client.HTTPConnection, request: Request) -> Response:
        reusable = False
        try:
            connection.sock.settimeout(min(self._timeout, request.timeout))
            path = self._prefix + request.path
            connection.request(request.method, path, request.body, request.headers)
            with connection.getresponse() as answer:
                body = _read(answer)
                reusable = _keeps_alive(answer) and len(self._idle) < MAX_IDLE
                return Response(answer.status, answer.headers, body)
        finally:
            if reusable:
                self._idle.append(connection)
            else:
                connection.close()


def _keeps_alive(answer: http.client.HTTPResponse) -> bool:
    """Whether the connection stays open, and the end of the body is clear (RFC 9112, 6.3)."""
    lengths = (*answer.headers.get_all("Content-Length", ()),)
    encodings = (*answer.headers.get_all("Transfer-Encoding", ()),)
    return not answer.will_close and len(lengths) + len(encodings) <= 1


def _read(answer: http.client.HTTPResponse) -> bytes:
    if answer.status < 200:
        # The response is still on its way (RFC 9110, 15.2). http.client skips 100 alone.
        raise http.client.HTTPException(f"an informational response: {answer.status}")
    body = b""
    try:
        while chunk := answer.read(MAX_RESPONSE):
            body += chunk
            if len(body) > MAX_RESPONSE:
                raise http.client.HTTPException("the response is too large")
    except ValueError as error:  # a chunk with a negative size
        raise http.client.HTTPException("the response has no clear end") from error
    if answer.length:  # the connection ended before the body did
        raise http.client.IncompleteRead(body, answer.length)
    return body
