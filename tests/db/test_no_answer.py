"""A PostgreSQL that accepts connections and does not answer: attempts leave nothing open."""

import gc
import socket
from contextlib import contextmanager

import pytest
from sqlalchemy.exc import OperationalError

from authsite.platform.db import open_database
from authsite.platform.db.standbys import Standby

SSL_REQUEST = 8  # bytes; PostgreSQL manual, 55.7


@contextmanager
def not_answering():
    """A listening socket, and its port."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        listener.settimeout(10)
        yield listener, listener.getsockname()[1]


@contextmanager
def without_collections():
    """No garbage collection closes what was left open."""
    gc.disable()
    try:
        yield
    finally:
        gc.enable()


def is_closed(listener):
    """Whether the client of the next connection has closed it."""
    accepted, _ = listener.accept()
    with accepted:
        accepted.settimeout(2)
        assert len(accepted.recv(SSL_REQUEST)) == SSL_REQUEST
        return accepted.recv(1) == b""


@pytest.mark.parametrize("before", ["", "host=127.0.0.1:1&"])
def test_a_connection_without_an_answer_is_closed_at_its_timeout(before, monkeypatch):
    for name in ("CONNECT_TIMEOUT", "CONNECT_TIMEOUT_EACH"):
        monkeypatch.setattr(f"authsite.platform.db.engine.{name}", 1)
    with not_answering() as (listener, port), without_collections():
        database = open_database(f"postgresql://ann@/x?{before}host=127.0.0.1:{port}")
        with pytest.raises(OperationalError, match="timeout expired"):
            database.autocommit.connect()
        assert is_closed(listener)
        database.dispose()


def test_a_standby_without_an_answer_is_left_at_the_timeout(monkeypatch):
    monkeypatch.setattr("authsite.platform.db.engine.CONNECT_TIMEOUT", 1)
    with not_answering() as (listener, port), without_collections():
        url = f"postgresql://ann@127.0.0.1:{port}/x"
        database = open_database(url)
        standby = Standby(database.autocommit.dialect, url)
        standby.take()  # a request wants a connection
        standby.check(lambda _connection: True)
        assert not standby.ready
        assert is_closed(listener)
