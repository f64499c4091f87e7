"""Connections are kept alive; one that the server has closed is no error."""

import socket

import pytest

from authsite_client import Unavailable
from tests.client.conftest import active
from tests.support.tiny_server import raw_server, tiny_server
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
