"""Slow, long and broken bodies at ``authsite serve`` itself."""

import json
import os
import signal
import socket
import time
from contextlib import ExitStack
from urllib.parse import urlencode

import pytest

from authsite.platform.http.bodies import MAX_BODY
from authsite.platform.runtime.slots import THREADS
from tests.support import databases, echo_server
from tests.support.servers import serving, write_ini
from tests.system.servers.test_bridge import receive, until

FORM = "Content-Type: application/x-www-form-urlencoded"
PASSWORD = "purple wolf 77 tea"

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def http(tmp_path_factory):
    folder = tmp_path_factory.mktemp("slow")
    url = databases.migrated(databases.new_url("sqlite", folder, "slow"))
    with serving(write_ini(folder, url)) as client:
        yield client


def begin(http, head, body=b"", path="/v1/register"):
    """A connection on which this much was sent."""
    connection = socket.create_connection(("127.0.0.1", http.base_url.port), 30)
    connection.sendall(f"POST {path} HTTP/1.1\r\nHost: h\r\n{FORM}\r\n{head}\r\n\r\n".encode())
    connection.sendall(body)
    return connection


def account(number):
    return {"email": f"ann{number}@example.com", "password": PASSWORD}


def waits(connection):
    """Whether nothing has come back, and the connection is open."""
    connection.setblocking(False)
    try:
        connection.recv(1, socket.MSG_PEEK)
    except BlockingIOError:
        return True
    finally:
        connection.settimeout(30)
    return False


@pytest.mark.control("S13")
def test_slow_bodies_hold_no_thread_and_are_told_so_in_the_end(http):
    with ExitStack() as stack:
        slow = [
            stack.enter_context(begin(http, "Content-Length: 600", b"email=")) for _ in range(30)
        ]
        slow += [
            stack.enter_context(begin(http, f"Content-Length: {MAX_BODY}", b"a" * (MAX_BODY // 2)))
            for _ in range(THREADS)
        ]
        slow += [
            stack.enter_context(begin(http, "Transfer-Encoding: chunked", b"2\r\nem\r\n"))
            for _ in range(THREADS)
        ]
        assert http.get("/v1/user").status_code == 401
        assert http.post("/v1/register", data=account(1)).status_code == 201
        assert all(waits(connection) for connection in slow)  # so they were all under way
        for connection in slow:
            head, body = receive(connection)
            assert head.startswith("HTTP/1.1 408"), head
            assert "x-request-id: " in head
            assert json.loads(body)["errors"][0]["code"] == "request_timeout"
            assert connection.recv(1) == b""


def test_a_client_that_trickles_on_after_its_answer_is_hung_up_on(http):
    with ExitStack() as stack:
        slow = [
            stack.enter_context(begin(http, "Transfer-Encoding: chunked", b"2\r\nem\r\n"))
            for _ in range(16)
        ]
        until(lambda: not [each for each in slow if trickles(each)], seconds=60)


def trickles(connection):
    """Send one byte more; whether the server still takes it."""
    time.sleep(0.02)
    try:
        connection.sendall(b"1\r\na\r\n")
    except OSError:
        return False
    return True


def test_a_late_body_at_an_oauth_endpoint_is_an_invalid_request(http):
    with begin(http, "Content-Length: 600", b"grant", path="/v1/oauth/token") as connection:
        head, body = receive(connection)
    assert head.startswith("HTTP/1.1 408")
    assert json.loads(body)["error"] == "invalid_request"


@pytest.mark.control("S13")
@pytest.mark.parametrize("length", [MAX_BODY + 1, 10_000_000, 10**15])
def test_a_body_whose_length_is_too_much_is_refused_before_any_of_it_came(http, length):
    with begin(http, f"Content-Length: {length}") as connection:
        head, body = receive(connection)
        assert head.startswith("HTTP/1.1 413")
        assert "connection: close" in head
        assert json.loads(body)["errors"][0]["code"] == "payload_too_large"
        assert connection.recv(1) == b""


@pytest.mark.control("S13")
@pytest.mark.parametrize("more", [b"", b"4\r\nmore\r\n", b"0\r\n\r\n"], ids=["", "more", "end"])
def test_a_chunked_body_is_refused_where_it_becomes_too_much(http, more):
    with begin(http, "Transfer-Encoding: chunked") as connection:
        connection.sendall(b"%x\r\n%s\r\n" % (MAX_BODY + 1, b"a" * (MAX_BODY + 1)) + more)
        assert receive(connection)[0].startswith("HTTP/1.1 413")
        assert connection.recv(1) == b""


def test_a_client_that_sends_all_before_it_listens_still_gets_the_answer(http):
    answer = http.post("/v1/register", content=b"a" * 900_000, headers={"Content-Type": FORM[14:]})
    assert answer.status_code == 413


def test_a_body_as_long_as_allowed_is_read_however_it_is_framed(http):
    body = urlencode({**account(2), "x": ""}).encode()
    body += b"x" * (MAX_BODY - len(body))
    for number, framed in enumerate([body, iter([body[:70], body[70:]])]):
        answer = http.post("/v1/register", content=framed, headers={"Content-Type": FORM[14:]})
        assert answer.status_code == [201, 422][number]  # the second time the name is taken


def test_a_body_that_broke_off_registers_nobody(http):
    whole = urlencode(account(3))
    for framing, sent in (
        (f"Content-Length: {len(whole) + 5}", whole),
        ("Transfer-Encoding: chunked", f"{len(whole):x}\r\n{whole}\r\n"),
    ):
        with begin(http, framing, sent.encode()) as connection:
            connection.shutdown(socket.SHUT_WR)
            assert receive(connection)[0].startswith("HTTP/1.1 400")
    assert http.post("/v1/register", data=account(3)).status_code == 201


@pytest.mark.control("S13")
@pytest.mark.parametrize(("size", "status"), [(15_000, 401), (17_000, 431)])
def test_headers_have_room_and_an_end(http, size, status):
    assert http.get("/v1/user", headers={"X-Much": "a" * size}).status_code == status


def test_a_worker_that_was_killed_is_replaced(tmp_path):
    url = databases.migrated(databases.new_url("sqlite", tmp_path, "killed"))
    with serving(write_ini(tmp_path, url)) as http:
        [worker] = echo_server.children(http.process.pid)
        started = http.log.read_text().count("Started worker-")
        http.close()
        os.kill(worker, signal.SIGKILL)
        until(lambda: http.log.read_text().count("Started worker-") > started)


def test_a_head_has_the_length_of_its_get_and_no_body(http):
    answer, whole = http.head("/docs"), http.get("/docs")
    assert (answer.status_code, answer.content) == (whole.status_code, b"")
    assert answer.headers["Content-Length"] == whole.headers["Content-Length"]
