"""authsite away, slow or wrong: requests get 503, few ask again, and recovery is automatic."""

import asyncio
import json
from contextlib import suppress
from threading import Event

import pytest

from authsite_client import InvalidToken, Service, Unavailable
from tests.client.conftest import CLAIMS, active
from tests.support.certificates import Authority, make_certificate, server_context
from tests.support.servers import free_port
from tests.support.tiny_server import TIMEOUT, Held, raw_server, tiny_server
from tests.support.together import together

JSON = {"Content-Type": "application/json"}
UNUSABLE = {
    "a bug": (500, {}, {"error": "internal_error"}),
    "a proxy": (502, {}, b"<html>"),
    "busy": (503, {"Retry-After": "2"}, {"error": "temporarily_unavailable"}),
    "a limit": (429, {"Retry-After": "7"}, {"error": "too_many_attempts"}),
    "wrong credentials": (401, {}, {"error": "invalid_client"}),
    "forbidden": (403, {}, {"error": "unauthorized_client"}),
    "not found": (404, {}, {"message": "x"}),
    "bad request": (400, {}, {"error": "invalid_request"}),
    "a redirect": (302, {"Location": "/elsewhere"}, b""),
    "a redirect with claims": (307, {"Location": "/elsewhere"}, CLAIMS),
    "not found with claims": (404, {}, CLAIMS),
    "forbidden and not active": (403, {}, {"active": False}),
    "a page": (200, {}, b"<html>sign in to this network</html>"),
    "nothing": (200, {}, b""),
    "no content": (204, {}, b""),
    "a text": (200, {}, "active"),
    "a list": (200, {}, [{"active": True}]),
    "no active": (200, {}, {"sub": "x"}),
    "active as text": (200, {}, {"active": "true"}),
    "active as number": (200, {}, {"active": 1}),
    "a number as sub": (200, {}, {**CLAIMS, "sub": 1}),
    "a list as scope": (200, {}, {**CLAIMS, "scope": ["a"]}),
    "a text as exp": (200, {}, {**CLAIMS, "exp": "4000000000"}),
    "a huge exp": (200, {}, {**CLAIMS, "exp": 10**400}),
    "an exp beyond what a float has": (200, {}, {**CLAIMS, "exp": 2**53}),
    "a negative exp": (200, {}, {**CLAIMS, "exp": -1}),
    "deep": (200, {}, b"[" * 60_000),
    "half": (200, {"Content-Length": "100", "Connection": "close"}, b'{"active": false}'),
    "too long": (200, {}, {**CLAIMS, "more": "x" * 70_000}),
    "a bad length": (200, {"Content-Length": "-5", "Connection": "close"}, b""),
    "latin-1": (200, {}, b'{"active": true, "sub": "\xe9"}'),
}


@pytest.mark.parametrize("answer", UNUSABLE.values(), ids=UNUSABLE)
def test_an_unusable_response_is_503_and_never_401(server, verifier, answer):
    server.respond = lambda request: answer
    with pytest.raises(Unavailable) as raised:
        verifier.verify("at_1")
    wanted = answer[1].get("Retry-After", "1")
    assert ("Retry-After", wanted) in raised.value.headers
    assert raised.value.status == 503
    assert json.loads(raised.value.body)["errors"][0]["code"] == "temporarily_unavailable"
    assert len(server.requests) == 1  # no redirect was followed, nothing repeated
    with pytest.raises(Unavailable):  # nothing waits for the first one
        asyncio.run(asyncio.wait_for(verifier.verify_async("at_1"), TIMEOUT))


@pytest.mark.parametrize(
    "sent",
    [b"220 mail ESMTP\r\n", b"", b"\x16\x03\x01", b"HTTP/1.1 200 OK\r\n" + b"a: b\r\n" * 200],
)
def test_what_is_not_http_is_503(verifier_of, sent):
    def talk(connection):
        connection.recv(65536)
        connection.sendall(sent)

    with raw_server(talk) as server, pytest.raises(Unavailable):
        verifier_of(server.url).verify("at_1")


def test_a_server_that_is_away_is_503(verifier_of):
    with pytest.raises(Unavailable):
        verifier_of(f"http://127.0.0.1:{free_port()}").verify("at_1")


def test_a_name_that_does_not_exist_is_503(verifier_of):
    with pytest.raises(Unavailable):
        verifier_of("https://authsite.invalid").verify("at_1")


def test_a_server_that_never_responds_is_503(verifier_of):
    done = Event()
    with raw_server(lambda connection: done.wait(TIMEOUT)) as server:
        with pytest.raises(Unavailable):
            verifier_of(Service(server.url, timeout=0.2)).verify("at_1")
        done.set()


@pytest.mark.parametrize("start", [b"HTTP/1.1 200 OK\r\nX: ", b"HTTP/1.1 200 OK\r\n\r\n "])
def test_a_server_that_sends_a_byte_now_and_then_is_503(verifier_of, start):
    """The timeout of a socket would begin again with each byte."""
    done, ended = Event(), Event()

    def drip(connection):
        with suppress(OSError):
            connection.sendall(start)
            for _ in range(TIMEOUT * 50):
                if done.wait(0.02):
                    return
                connection.sendall(b" ")
            ended.set()

    with raw_server(drip) as server:
        with pytest.raises(Unavailable):
            verifier_of(Service(server.url, timeout=0.3)).verify("at_1")
        done.set()
        assert not ended.is_set()


def test_a_response_without_end_is_given_up(verifier_of):
    gave_up = Event()

    def flood(connection):
        try:
            connection.recv(65536)
            connection.sendall(b"HTTP/1.1 200 OK\r\n\r\n")
            while True:
                connection.sendall(b" " * 65536)
        except OSError:
            gave_up.set()

    with raw_server(flood) as server:
        with pytest.raises(Unavailable):
            verifier_of(Service(server.url, timeout=TIMEOUT)).verify("at_1")
        assert gave_up.wait(TIMEOUT)


def test_a_cached_identity_passes_while_authsite_is_away(server, verifier, frozen_time):
    verifier.verify("at_1")
    server.respond = lambda request: (503, {}, b"")
    with pytest.raises(Unavailable):
        verifier.verify("at_2")
    assert verifier.verify("at_1").username == "ann@example.com"
    frozen_time.advance(5)
    with pytest.raises(Unavailable):
        verifier.verify("at_1")


def test_while_authsite_is_away_it_is_not_asked_for_each_request(server, verifier, frozen_time):
    server.respond = lambda request: (503, {}, b"")
    for number in range(50):
        with pytest.raises(Unavailable):
            verifier.verify(f"at_{number}")
    assert len(server.requests) == 1
    frozen_time.advance(0.3)
    for number in range(50):
        with pytest.raises(Unavailable):
            verifier.verify(f"at_{number}")
    assert len(server.requests) == 2
    for _ in range(600):  # a minute: the pauses grow to four seconds and no further
        frozen_time.advance(0.1)
        with pytest.raises(Unavailable):
            verifier.verify("at_1")
    assert 15 <= len(server.requests) <= 20


def test_one_request_finds_out_that_authsite_is_back(server, verifier, frozen_time):
    server.respond = lambda request: (503, {}, b"")
    with pytest.raises(Unavailable):
        verifier.verify("at_1")
    frozen_time.advance(1)
    server.respond = held = Held(active)
    finished = []

    def verify(number):
        try:
            return verifier.verify(f"at_{number}").sub
        except Unavailable:
            return None
        finally:
            finished.append(number)
            if len(finished) == 19:  # all but one, which waits for the server
                held.release()

    seen = together(*[lambda number=number: verify(number) for number in range(20)])
    assert len([sub for sub in seen if sub]) == 1
    assert len(server.requests) == 2
    assert verifier.verify("at_50").sub
    with pytest.raises(InvalidToken):
        verifier.verify("dead_1")


def test_it_recovers_by_itself_when_the_server_starts_again(verifier_of, frozen_time):
    with tiny_server(active) as first:
        port = first.port
        verifier = verifier_of(first.url)
        verifier.verify("at_1")
    for number in range(3):
        frozen_time.advance(10)
        with pytest.raises(Unavailable):
            verifier.verify(f"at_{number}")
    frozen_time.advance(10)
    with tiny_server(active, port=port):
        assert verifier.verify("at_1").username == "ann@example.com"


def test_a_time_that_authsite_names_is_respected_up_to_a_bound(server, verifier, frozen_time):
    server.respond = lambda request: (429, {"Retry-After": "86400"}, b"")
    for advance, requests in ((0, 1), (29, 1), (2, 2)):
        frozen_time.advance(advance)
        with pytest.raises(Unavailable):
            verifier.verify("at_1")
        assert len(server.requests) == requests


def test_a_certificate_is_verified(tmp_path, verifier_of):
    authority = Authority(tmp_path)
    with tiny_server(active) as server:
        context = server_context(authority.sign("localhost"))
        server.socket = context.wrap_socket(server.socket, server_side=True)
        url = f"https://localhost:{server.port}"
        trusting = Service(url, ca_file=str(authority.path))
        assert verifier_of(trusting).verify("at_1").username == "ann@example.com"
        other = make_certificate(tmp_path, "other")
        for service in (
            url,
            Service(url, ca_file=str(other)),
            Service(f"https://127.0.0.1:{server.port}", ca_file=str(authority.path)),
        ):
            with pytest.raises(Unavailable):
                verifier_of(service).verify("at_1")
        assert len(server.requests) == 1
