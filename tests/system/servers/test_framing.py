"""One framing for each request, so that no proxy and server can disagree on where one ends."""

import socket
from contextlib import suppress

import pytest

from tests.support import databases
from tests.support.servers import serving, write_ini

SMUGGLED = "GET /v1/profile HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n"
END = "0\r\n\r\n"  # of a chunked body
ALL = len(END + SMUGGLED)
AMBIGUOUS = {
    "length and chunked": f"Content-Length: {ALL}\r\nTransfer-Encoding: chunked",
    "chunked and length": f"Transfer-Encoding: chunked\r\nContent-Length: {ALL}",
    "two lengths": f"Content-Length: 5\r\nContent-Length: {ALL}",
    "a list of lengths": f"Content-Length: 5, {ALL}",
    "a signed length": "Content-Length: +5",
    "a hexadecimal length": "Content-Length: 0x5",
    "a blank before the colon": "Content-Length : 5",
    "an unknown coding": "Transfer-Encoding: xchunked",
    "chunked, then identity": "Transfer-Encoding: chunked, identity",
    "a folded header": "X: y\r\n Transfer-Encoding: chunked\r\nContent-Length : 5",
}


@pytest.fixture(scope="module")
def port(tmp_path_factory):
    folder = tmp_path_factory.mktemp("framing")
    url = databases.migrated(databases.new_url("sqlite", folder, "framing"))
    with serving(write_ini(folder, url)) as http:
        yield http.base_url.port


def talk(port, text):
    """All that comes back until the server closes the connection, as the last request asks."""
    with socket.create_connection(("127.0.0.1", port), 30) as connection:
        connection.sendall(text.encode())
        seen = b""
        with suppress(ConnectionResetError):
            while chunk := connection.recv(65536):
                seen += chunk
        return seen


@pytest.mark.control("S14")
@pytest.mark.parametrize("framing", AMBIGUOUS.values(), ids=AMBIGUOUS)
def test_an_ambiguous_request_never_becomes_two(port, framing):
    head = f"POST /v1/oauth/token HTTP/1.1\r\nHost: x\r\n{framing}\r\n\r\n"
    answer = talk(port, head + END + SMUGGLED)
    assert answer.count(b"HTTP/1.1 ") == 1, answer
    assert answer.startswith(b"HTTP/1.1 400"), answer


def test_the_same_two_requests_framed_well_are_two(port):
    head = "POST /v1/oauth/token HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n"
    assert talk(port, head + END + SMUGGLED).count(b"HTTP/1.1 ") == 2


HOSTS = {
    "none": "A: b",
    "two": "Host: h\r\nHost: i",
    "the same twice": "Host: h\r\nHost: h",
    "an empty one": "Host:",
    "half a bracket": "Host: [::1",
    "a path": "Host: evil.example/x",
    "a long one": "Host: " + "a" * 8000,
    "bytes": "Host: \xe9",
}


@pytest.mark.parametrize(
    ("target", "hosts"),
    [
        (target, hosts)
        for target in ("/login", "/v1/user", "http://h/v1/user")
        for hosts in HOSTS.values()
        # Granian hands over the host of a whole address as the header, if there is none.
        if "Host" in hosts or target.startswith("/")
    ],
)
def test_l15_a_request_names_one_host(port, target, hosts):
    """L15, L3: RFC 9112, section 3.2."""
    answer = talk(port, f"GET {target} HTTP/1.1\r\nConnection: close\r\n{hosts}\r\n\r\n")
    assert answer.startswith(b"HTTP/1.1 400"), answer
    assert b"Send one Host header" in answer


def test_l15_http_1_0_needs_no_host(port):
    assert talk(port, "GET /login HTTP/1.0\r\n\r\n").startswith(b"HTTP/1.0 200")
