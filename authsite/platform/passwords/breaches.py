"""Ask a range service whether a password has appeared in a data breach (setting
`password-breach-check`).

OWASP ASVS 5.0, 6.2.12; NIST SP 800-63B-4, section 3.1.1.2. Only the first five hexadecimal
characters of the SHA-1 hash leave this process (k-anonymity), and ``Add-Padding`` hides from an
observer how long the response is:
https://haveibeenpwned.com/API/v3#SearchingPwnedPasswordsByRange
"""

import hashlib
import re
import socket
import ssl
import threading
import unicodedata
from concurrent.futures import Future
from contextlib import suppress
from functools import cache
from http.client import HTTPConnection, HTTPException, HTTPSConnection
from time import monotonic
from urllib.parse import urlsplit

import structlog

from authsite.platform.runtime.slots import waiting

log = structlog.get_logger("authsite.passwords")

TIMEOUT = 1.0  # seconds for everything: name, connection, TLS and response
MAX_RESPONSE = 256 * 1024  # bytes; a padded response has some 40,000
AT_ONCE = 8  # requests of one process
LOG_EVERY = 60.0  # seconds
PREFIX = 5  # characters of the hash that are sent
_ENTRY = re.compile(r"([0-9A-Fa-f]{35}):([0-9]{1,20})")
_HEADERS = {"Add-Padding": "true", "User-Agent": "authsite"}


class _Failed(Exception):
    """The response is none of a range service."""


def is_breached(service: str, password: str) -> bool:
    """Whether the range service at the URL ``service`` knows ``password``.

    False if it does not answer properly within a second, which the log says at most once a minute:
    an outage of the service never prevents a change of password. Redirects are not followed. Call
    it while no transaction is open.
    """
    text = unicodedata.normalize("NFC", password)
    digest = hashlib.sha1(text.encode(), usedforsecurity=False).hexdigest().upper()
    try:
        with waiting():
            response = _ask(service, digest[:PREFIX])
        return digest[PREFIX:] in _suffixes(response)
    except (_Failed, OSError, HTTPException) as error:
        cause = str(error) if isinstance(error, _Failed) else type(error).__name__
        _log_failure(service, cause)
        return False


def failure_of(service: str) -> str | None:
    """Why the range service cannot be used at present; None if it can."""
    try:
        _suffixes(_ask(service, "0" * PREFIX))
    except (_Failed, OSError, HTTPException) as error:
        return str(error) if isinstance(error, _Failed) else type(error).__name__
    return None


def _ask(service: str, prefix: str) -> bytes:
    """The response for ``prefix``, read by a separate thread: nothing else bounds a look-up of a
    name, or a response that comes byte by byte.
    """
    if not _free.acquire(blocking=False):
        raise _Failed("too many requests at once")
    connection = _connection(service)
    sockets: list[socket.socket] = []
    result: Future[bytes] = Future()
    given_up = threading.Event()

    def work() -> None:
        try:
            connection.connect()
            sockets.append(connection.sock)
            if given_up.is_set():  # while it connected: the socket came too late to be shut down
                return
            result.set_result(_read(connection, f"{urlsplit(service).path}/{prefix}"))
        except BaseException as error:  # raised again in the thread that waits
            result.set_exception(error)
        finally:
            connection.close()
            _free.release()

    try:
        threading.Thread(target=work, name="breach-check", daemon=True).start()
    except RuntimeError as error:  # the system has no thread left
        _free.release()
        raise _Failed(str(error)) from None
    try:
        return result.result(TIMEOUT)
    finally:
        given_up.set()
        for each in sockets:
            with suppress(OSError):  # closed already
                each.shutdown(socket.SHUT_RDWR)  # ends the thread


def _connection(service: str) -> HTTPConnection:
    parts = urlsplit(service)
    host = parts.hostname or ""
    if parts.scheme == "http":
        return HTTPConnection(host, parts.port, timeout=TIMEOUT)
    return HTTPSConnection(host, parts.port, timeout=TIMEOUT, context=_tls())


def _read(connection: HTTPConnection, path: str) -> bytes:
    connection.request("GET", path, headers=_HEADERS)
    response = connection.getresponse()
    if response.status != 200:
        raise _Failed(f"status {response.status}")
    body = response.read(MAX_RESPONSE + 1)
    if len(body) > MAX_RESPONSE:
        raise _Failed("the response is too long")
    return body


def _suffixes(response: bytes) -> set[str]:
    """The rest of each hash that was seen; padding has the count 0."""
    found = set()
    for line in response.decode("ascii", errors="replace").split():
        entry = _ENTRY.fullmatch(line)
        if entry is None:
            raise _Failed("the response is not a list of hashes")
        if int(entry[2]):
            found.add(entry[1].upper())
    return found


@cache
def _tls() -> ssl.SSLContext:
    return ssl.create_default_context()


def _log_failure(service: str, cause: str) -> None:
    with _logging:
        if monotonic() < _next_line.get(service, 0.0):
            return
        _next_line[service] = monotonic() + LOG_EVERY
    log.warning("password_breach_check_failed", cause=cause)


_free = threading.BoundedSemaphore(AT_ONCE)
_logging = threading.Lock()
_next_line: dict[str, float] = {}  # service -> when the log may have its next line
