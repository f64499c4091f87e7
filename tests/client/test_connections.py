"""Connections are kept alive; one that the server has closed is not an error."""

import socket
from contextlib import suppress
from threading import Event

import pytest

from authsite_client import Client, Service, Unavailable, Unreachable
from tests.client.conftest import CLIENT, active
from tests.support.tiny_server import TIMEOUT, raw_server, tiny_server
from tests.support.together import together

BODY = b'{"active": true, "token_type": "Bearer"}'
OK = b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n%b" % (len(BODY), BODY)


def test_one_connection_serves_many_requests(server, verifier):
    for number in range(20):
        verifier.verify(f"at_{number}")
    assert (server.connections, len(server.requests)) == (1, 20)


def test_a_chunked_response_keeps_the_connection(server, verifier):
    chunked = {"Transfer-Encoding": "chunked", "Content-Length": ""}
    body = b"5\r\n%b\r\n%x\r\n%b\r\n0\r\n\r\n" % (BODY[:5], len(BODY) - 5, BODY[5:])
    server.respond = lambda request: (200, chunked, body)
    for number in range(3):
        verifier.verify(f"at_{number}")
    assert (server.connections, len(server.requests)) == (1, 3)


def test_a_connection_that_the_server_wants_closed_is_not_used_again(server, verifier):
    server.respond = lambda request: (200, {"Connection": "close"}, BODY)
    for number in range(3):
        verifier.verify(f"at_{number}")
    assert server.connections == 3


def test_connections_that_the_server_has_closed_are_replaced(server, verifier):
    tokens = [lambda n=n: verifier.verify(f"at_{n}") for n in range(8)]
    together(*tokens)
    server.drop_connections()
    before = server.connections
    for number in range(8, 12):
        verifier.verify(f"at_{number}")
    assert server.connections == before + 1
    assert len(server.requests) == 12


def test_a_restart_between_two_requests_is_not_seen(verifier_of):
    with tiny_server(active) as first:
        port = first.port
        verifier = verifier_of(first.url)
        verifier.verify("at_1")
    with tiny_server(active, port=port) as second:
        verifier.verify("at_2")
        assert len(second.requests) == 1


def test_a_request_over_a_new_connection_is_not_repeated(verifier_of):
    def talk(connection):
        connection.recv(65536)

    with raw_server(talk) as server:
        with pytest.raises(Unavailable):
            verifier_of(server.url).verify("at_1")
        assert server.connections == 1


def test_a_connection_that_is_reset_during_the_second_request_is_replaced(verifier_of):
    def talk(connection):
        connection.recv(65536)
        connection.sendall(OK)
        connection.recv(65536)
        connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, b"\1\0\0\0\0\0\0\0")

    with raw_server(talk) as server:
        verifier = verifier_of(server.url)
        for number in range(2):
            verifier.verify(f"at_{number}")
        assert server.connections == 2


def answering(*responses):
    """What a raw server sends: the next of ``responses`` for each request of a connection."""

    def talk(connection):
        for response in responses:
            if not connection.recv(65536):
                return
            connection.sendall(response)
        connection.recv(65536)

    return talk


@pytest.mark.parametrize("status", [b"101 Switching Protocols", b"102 Processing", b"103 Hints"])
def test_what_follows_an_informational_response_answers_no_other_request(
    verifier_of, frozen_time, status
):
    """`http.client` takes it for the final response (RFC 9110, section 15.2)."""
    informational = b"HTTP/1.1 %b\r\nLink: </x>\r\n\r\n" % status
    with raw_server(answering(informational, OK)) as server:
        verifier = verifier_of(server.url)
        for number in range(2):
            with pytest.raises(Unavailable):
                verifier.verify(f"at_{number}")
            frozen_time.advance(5)
        assert server.connections == 2


def test_a_100_before_the_response_is_skipped(verifier_of):
    with raw_server(answering(b"HTTP/1.1 100 Continue\r\n\r\n" + OK)) as server:
        verifier_of(server.url).verify("at_1")


def test_a_response_that_nobody_asked_for_answers_no_request(verifier_of):
    """It arrives when nothing is under way."""
    other = OK.replace(b'"Bearer"', b'"Bearer", "sub": "eve"')
    sent, late = Event(), Event()

    def talk(connection):
        connection.recv(65536)
        connection.sendall(OK)
        assert late.wait(TIMEOUT)
        with suppress(OSError):
            connection.sendall(other)
        sent.set()
        connection.recv(65536)

    with raw_server(talk) as server:
        verifier = verifier_of(server.url)
        verifier.verify("at_1")
        late.set()
        assert sent.wait(TIMEOUT)
        assert verifier.verify("at_2").sub is None
        assert server.connections == 2


@pytest.mark.parametrize(
    "response",
    [
        OK + b"HTTP/1.1 200 OK\r\n",
        OK.replace(b"Content-Length:", b"Transfer-Encoding: identity\r\nContent-Length:"),
        OK.replace(b"Content-Length:", b"Content-Length: %d\r\nContent-Length:" % len(BODY)),
    ],
    ids=["surplus", "two encodings", "two lengths"],
)
def test_a_connection_with_an_unclear_end_of_the_response_is_not_used_again(verifier_of, response):
    """RFC 9112, section 6.3."""
    with raw_server(answering(response, response)) as server:
        verifier = verifier_of(server.url)
        for number in range(2):
            with suppress(Unavailable):
                verifier.verify(f"at_{number}")
        assert server.connections == 2


@pytest.mark.parametrize("size", [b"-1", b"-5", b"x"])
def test_a_chunk_without_a_size_is_no_usable_response(server, size):
    body = b"%b\r\n{}\r\n0\r\n\r\n" % size
    server.respond = lambda request: (
        200,
        {"Transfer-Encoding": "chunked", "Content-Length": "", "Connection": "close"},
        body,
    )
    client = Client(Service(server.url, timeout=TIMEOUT), *CLIENT)
    with pytest.raises(Unreachable):
        client.login("ann", "secret")
