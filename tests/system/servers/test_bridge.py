"""The server of a worker: who waits for a body, and what the application gets to see."""

import json
import os
import signal
import socket
import time
from contextlib import ExitStack, closing, suppress

import pytest

from tests.support import echo_server

HEAD = "POST /a%20b/%C3%A9?x=%20y&z HTTP/1.1\r\nHost: h:80\r\n"
REQUESTS = {
    "a length": (HEAD + "Content-Length: 5\r\nContent-Type: text/plain\r\n\r\nhello").encode(),
    "no body": b"POST / HTTP/1.1\r\nHost: h\r\n\r\n",
    "an empty body": b"POST / HTTP/1.1\r\nHost: h\r\nContent-Length: 0\r\n\r\n",
    "chunked": (
        HEAD + "Transfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n1\r\n!\r\n0\r\n\r\n"
    ).encode(),
    "a GET with a body": b"GET /x HTTP/1.1\r\nHost: h\r\nContent-Length: 2\r\n\r\nhi",
    "a header twice": b"GET / HTTP/1.1\r\nHost: h\r\nA-B: 1\r\na-b: 2\r\n\r\n",
    "a path that is not UTF-8": b"GET /%ff HTTP/1.1\r\nHost: h\r\n\r\n",
    "a whole address": b"GET http://there:81/x?y HTTP/1.1\r\nHost: h\r\n\r\n",
    "a star": b"OPTIONS * HTTP/1.1\r\nHost: h\r\n\r\n",
    "HEAD": b"HEAD /x HTTP/1.1\r\nHost: h\r\n\r\n",
    "a blank and a plus": b"GET /a+b%2Fc?a+b=%2B HTTP/1.1\r\nHost: h\r\nAuthorization: Bearer x"
    b"\r\n\r\n",
}

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def bridge(tmp_path_factory):
    with echo_server.standing("asgi", tmp_path_factory.mktemp("asgi")) as (port, _process):
        yield port


@pytest.fixture(scope="module")
def plain(tmp_path_factory):
    with echo_server.standing("wsgi", tmp_path_factory.mktemp("wsgi")) as (port, _process):
        yield port


def ask(port, request, host="127.0.0.1"):
    """What comes back for ``request``, up to the end of its answer: head and body."""
    with socket.create_connection((host, port), 20) as connection:
        connection.sendall(request)
        return receive(connection, body=not request.startswith(b"HEAD"))


def receive(connection, *, body=True):
    """One answer: its head as text, and its body."""
    received = b""
    while b"\r\n\r\n" not in received:
        received += told(connection)
    head, _, rest = received.partition(b"\r\n\r\n")
    length = int(head.lower().partition(b"content-length: ")[2].partition(b"\r")[0])
    while body and len(rest) < length:
        rest += told(connection)
    return head.decode(), rest


def told(connection):
    some = connection.recv(65536)
    assert some, "the server hung up without an answer"
    return some


def without_what_differs(answer, port):
    head, body = answer
    lines = [line for line in head.split("\r\n") if not line.lower().startswith("date:")]
    return lines, json.loads(body.replace(str(port).encode(), b"PORT") or b"null")


@pytest.mark.parametrize("request_", REQUESTS.values(), ids=REQUESTS)
def test_the_application_sees_what_granians_own_wsgi_server_shows_it(bridge, plain, request_):
    behind_the_bridge = without_what_differs(ask(bridge, request_), bridge)
    assert behind_the_bridge == without_what_differs(ask(plain, request_), plain)


def seen(port, *headers, version="1.1"):
    """The environ of a request with these header lines."""
    lines = b"".join(line + b"\r\n" for line in headers)
    return json.loads(ask(port, b"GET / HTTP/%s\r\n%s\r\n" % (version.encode(), lines))[1])


def test_m2_every_byte_of_a_header_reaches_the_application(bridge):
    """M2: Granian's own WSGI interface gives an empty text for a header that is not ASCII."""
    environ = seen(bridge, b"Host: h", b"Cookie: a=1; x=\xc3\xa9\xff", b"X-Forwarded-For: \xe9")
    assert environ["HTTP_COOKIE"].encode("latin-1") == b"a=1; x=\xc3\xa9\xff"
    assert environ["HTTP_X_FORWARDED_FOR"].encode("latin-1") == b"\xe9"


def test_cookies_in_two_headers_are_one_list(bridge):
    """RFC 9113, section 8.2.3."""
    environ = seen(bridge, b"Host: h", b"Cookie: a=1", b"Cookie: b=2")
    assert environ["HTTP_COOKIE"] == "a=1; b=2"


def test_m3_a_header_name_with_an_underscore_is_left_out(bridge):
    """M3: WSGI could not tell it from the name with a hyphen, which the proxy sets."""
    environ = seen(bridge, b"Host: h", b"X-Forwarded-For: 192.0.2.1", b"X_Forwarded_For: 192.0.2.2")
    assert environ["HTTP_X_FORWARDED_FOR"] == "192.0.2.1"
    assert "HTTP_X_REQUEST_ID" not in seen(bridge, b"Host: h", b"X_Request_Id: abcdefgh")


def test_l15_hosts_are_handed_over_as_they_came(bridge):
    """L15: the application refuses two of them, and none."""
    assert seen(bridge, b"Host: a", b"Host: b")["HTTP_HOST"] == "a,b"
    assert seen(bridge, b"X: y").get("HTTP_HOST", "") == ""


def test_http_1_0_is_named_as_wsgi_names_it(bridge):
    assert seen(bridge, version="1.0")["SERVER_PROTOCOL"] == "HTTP/1.0"


def test_the_environment_of_the_process_is_no_part_of_a_request(bridge, plain):
    """It holds the secrets; whatever prints an environ would tell them."""
    request = b"GET /process HTTP/1.1\r\nHost: h\r\n\r\n"
    assert "ECHO_FOLDER" in json.loads(ask(plain, request)[1])["shared"]
    assert json.loads(ask(bridge, request)[1])["shared"] == []


def test_addresses_of_ipv6_have_no_brackets(tmp_path):
    with echo_server.standing("asgi", tmp_path, host="::1") as (port, _process):
        environ = json.loads(ask(port, b"GET / HTTP/1.1\r\nHost: h\r\n\r\n", "::1")[1])
    assert (environ["REMOTE_ADDR"], environ["SERVER_NAME"]) == ("::1", "::1")


@pytest.mark.parametrize("framing", ["Content-Length: 50", "Transfer-Encoding: chunked"])
def test_a_body_that_breaks_off_is_never_taken_for_a_whole_one(bridge, framing):
    with socket.create_connection(("127.0.0.1", bridge), 20) as connection:
        body = "5\r\nhello\r\n" if "chunked" in framing else "hello"
        connection.sendall(f"{HEAD}{framing}\r\n\r\n{body}".encode())
        connection.shutdown(socket.SHUT_WR)
        _head, answer = receive(connection)
    assert json.loads(answer)["body"] == "OSError"


@pytest.mark.parametrize("body", ["", "Content-Length: 1\r\n\r\nx"], ids=["bare", "with a body"])
def test_an_application_that_raises_is_a_500_and_takes_no_thread_along(bridge, body):
    request = f"POST /raise HTTP/1.1\r\nHost: h\r\n{body}\r\n\r\n".replace("x\r\n\r\n", "x")
    for _ in range(10):  # more often than there are threads
        assert ask(bridge, request.encode())[0].startswith("HTTP/1.1 500")
    assert ask(bridge, REQUESTS["a length"])[0].startswith("HTTP/1.1 200")


@pytest.mark.parametrize("length", [0, 1], ids=["bare", "with a body"])
def test_a_server_that_is_told_to_stop_ends_what_is_under_way(tmp_path, length):
    with echo_server.standing("asgi", tmp_path) as (port, process):
        with socket.create_connection(("127.0.0.1", port), 40) as connection:
            head = f"POST /wait HTTP/1.1\r\nHost: h\r\nContent-Length: {length}\r\n\r\n"
            connection.sendall(head.encode() + b"x" * length)
            until((tmp_path / "waiting").exists)
            process.send_signal(signal.SIGTERM)
            until(lambda: refuses(port))
            (tmp_path / "release").touch()
            assert receive(connection)[0].startswith("HTTP/1.1 200")
        assert process.wait(20) == 0


def test_clients_that_hang_up_in_the_middle_leave_nothing_behind(tmp_path):
    with echo_server.standing("asgi", tmp_path) as (port, process):
        ask(port, REQUESTS["chunked"])
        [worker] = echo_server.children(process.pid)
        before = echo_server.open_files(worker)  # it may not have noticed yet that we hung up
        with ExitStack() as stack:
            for number in range(60):
                connection = socket.create_connection(("127.0.0.1", port), 20)
                stack.enter_context(closing(connection))
                framing = "Content-Length: 60000" if number % 2 else "Transfer-Encoding: chunked"
                connection.sendall(f"{HEAD}{framing}\r\n\r\n4\r\nhalf\r\n".encode())
            until(lambda: echo_server.open_files(worker) >= before + 59)
        until(lambda: echo_server.open_files(worker) <= before)
        assert ask(port, REQUESTS["a length"])[0].startswith("HTTP/1.1 200")


def test_workers_end_with_the_process_that_started_them(tmp_path):
    with echo_server.standing("asgi", tmp_path) as (port, process):
        ask(port, REQUESTS["no body"])
        [worker] = echo_server.children(process.pid)
        process.kill()
        process.wait()
        try:
            until(lambda: not echo_server.runs(worker))
        finally:
            with suppress(ProcessLookupError):
                os.kill(worker, signal.SIGKILL)


def refuses(port):
    try:
        socket.create_connection(("127.0.0.1", port), 1).close()
    except ConnectionRefusedError:
        return True
    return False


def until(condition, seconds=20):
    """Wait for ``condition``; fail if it never comes true."""
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end, "it never came true"
        time.sleep(0.02)
