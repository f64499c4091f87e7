"""The typed client on a server that misbehaves: what is repeated, and the exceptions."""

import asyncio
from concurrent.futures import Future
from threading import Event, Thread

import pytest

from authsite_client import (
    ApiError,
    AsyncSession,
    Client,
    Service,
    TemporarilyUnavailable,
    Tokens,
    Unreachable,
)
from authsite_client import client as client_module
from tests.client.conftest import CLIENT
from tests.support.settings import settings
from tests.support.tiny_server import TIMEOUT, Held, raw_server

PAIR = {"token_type": "Bearer", "expires_in": 600, "access_token": "at_1", "refresh_token": "rt_1"}
OLD = Tokens("at_0", "rt_0", expires_at=0.0, refresh_at=0.0)


@pytest.fixture
def client(server):
    """A client of ``server``, which issues a pair."""
    server.respond = lambda request: (200, {}, PAIR)
    made = Client(server.url, *CLIENT)
    yield made
    made.close()


def test_a_pair_is_read_with_its_times(client, frozen_time):
    tokens = client.refresh("rt_0")
    assert (tokens.access_token, tokens.refresh_token, tokens.scope) == ("at_1", "rt_1", None)
    assert tokens.expires_at == frozen_time.seconds + 600
    assert tokens.refresh_at == frozen_time.seconds + 570


def test_a_short_lived_pair_is_refreshed_after_nine_tenths(server, client, frozen_time):
    server.respond = lambda request: (200, {}, {**PAIR, "expires_in": 20})
    assert client.refresh("rt_0").refresh_at == frozen_time.seconds + 18


def test_a_login_is_sent_over_a_connection_of_its_own(server, client):
    client.refresh("rt_0")
    client.refresh("rt_0")
    assert server.connections == 1
    client.login("ann", "secret")
    assert server.connections == 2
    assert server.requests[-1].form == {
        "grant_type": "password",
        "username": "ann",
        "password": "secret",
    }


def test_a_refresh_over_a_closed_connection_is_repeated(server, client):
    client.refresh("rt_0")
    server.drop_connections()
    assert client.refresh("rt_0").access_token == "at_1"


def test_a_login_is_never_sent_twice():
    requests = []

    def talk(connection):
        requests.append(connection.recv(65536))

    with raw_server(talk) as server:
        client = Client(server.url, *CLIENT)
        with pytest.raises(Unreachable):
            client.login("ann", "secret")
    assert len(requests) == 1


@pytest.mark.parametrize(
    "body",
    [
        b"<html>",
        b"",
        [],
        {**PAIR, "access_token": None},
        {**PAIR, "refresh_token": 1},
        {**PAIR, "expires_in": "600"},
        {**PAIR, "expires_in": True},
        {**PAIR, "expires_in": 10**400},
        {**PAIR, "expires_in": 2**53},
        {**PAIR, "expires_in": -1},
        {**PAIR, "scope": ["notes:read"]},
    ],
)
def test_what_is_no_pair_is_no_usable_response(server, client, body):
    server.respond = lambda request: (200, {}, body)
    with pytest.raises(Unreachable):
        client.refresh("rt_0")


@pytest.mark.parametrize("status", [302, 400, 404, 500, 502])
def test_a_status_with_a_page_of_a_proxy_is_an_error_with_that_status(server, client, status):
    server.respond = lambda request: (status, {"Location": "/x"}, b"<html>")
    with pytest.raises(ApiError) as raised:
        client.refresh("rt_0")
    assert (raised.value.status, raised.value.code) == (status, f"status_{status}")
    assert len(server.requests) == 1


def test_a_busy_service_says_when_to_try_again(server, client):
    body = {"error": "temporarily_unavailable", "message": "Try again."}
    server.respond = lambda request: (503, {"Retry-After": "2", "X-Request-Id": "r1"}, body)
    with pytest.raises(TemporarilyUnavailable) as raised:
        client.refresh("rt_0")
    error = raised.value
    assert (error.code, error.retry_after, error.request_id, error.message) == (
        "temporarily_unavailable",
        2,
        "r1",
        "Try again.",
    )


@pytest.mark.parametrize("retry_after", ["soon", "Fri, 31 Dec 2027 23:59:59 GMT", "-1", "1" * 40])
def test_a_time_that_is_no_number_of_seconds_is_left_out(server, client, retry_after):
    server.respond = lambda request: (503, {"Retry-After": retry_after}, {})
    with pytest.raises(TemporarilyUnavailable) as raised:
        client.refresh("rt_0")
    assert raised.value.retry_after is None


def test_a_session_does_not_refresh_twice_for_one_request(server, client):
    """A token that is refused although it is new: the caller gets the 401."""

    def refuse(request):
        return (200, {}, PAIR) if request.path == "/v1/oauth/token" else (401, {}, {})

    server.respond = refuse
    session = client.resume(Tokens("at_0", "rt_0", expires_at=9e9, refresh_at=9e9))
    with pytest.raises(ApiError) as raised:
        session.user()
    assert raised.value.status == 401
    paths = [request.path for request in server.requests]
    assert paths == ["/v1/user", "/v1/oauth/token", "/v1/user"]


def test_a_401_that_arrives_after_the_refresh_of_another_thread_uses_its_pair(server, client):
    """A second use of the refresh token would end the login."""

    def respond(request):
        if request.path == "/v1/oauth/token":
            return 200, {}, PAIR
        if request.headers["Authorization"] == "Bearer at_1":
            return 200, {}, {}
        if request.path == "/v1/user":
            session.request("GET", "/v1/other")  # in a thread of the server
        return 401, {}, {}

    server.respond = respond
    session = client.resume(Tokens("at_0", "rt_0", expires_at=9e9, refresh_at=9e9))
    session.user()
    refreshed = [request for request in server.requests if request.path == "/v1/oauth/token"]
    assert len(refreshed) == 1


def test_an_expired_pair_is_refreshed_before_the_first_request(server, client):
    session = client.resume(OLD)
    session.request("GET", "/v1/user")
    assert [request.path for request in server.requests] == ["/v1/oauth/token", "/v1/user"]
    assert server.requests[-1].headers["Authorization"] == "Bearer at_1"


def test_an_early_refresh_that_fails_is_tried_again_after_a_pause(server, client, frozen_time):
    server.respond = lambda request: (503, {}, {})
    now = frozen_time.seconds
    session = client.resume(Tokens("at_0", "rt_0", expires_at=now + 20, refresh_at=now - 10))
    for seconds, requests in ((0, 1), (4, 1), (2, 2), (4, 2)):
        frozen_time.advance(seconds)
        assert session.access_token() == "at_0"
        assert len(server.requests) == requests
    server.respond = lambda request: (200, {}, PAIR)
    frozen_time.advance(2)
    assert session.access_token() == "at_1"


@pytest.fixture
def hurried(monkeypatch):
    """A refresh that ends soon."""
    monkeypatch.setattr(client_module, "REFRESH_TIMEOUT", 0.3)


def test_a_refresh_whose_response_is_lost_is_repeated_at_once(server, hurried):
    """Later than ``refresh-grace`` the same token would end the login."""
    lost = Held(lambda request: (200, {}, PAIR))

    def respond(request):
        return lost(request) if len(server.requests) == 1 else (200, {}, PAIR)

    server.respond = respond
    client = Client(Service(server.url, timeout=TIMEOUT), *CLIENT)
    assert client.resume(OLD).access_token() == "at_1"
    lost.release()
    assert [request.form["refresh_token"] for request in server.requests] == ["rt_0", "rt_0"]
    client.close()


def test_a_refresh_is_repeated_once(hurried):
    requests, done = [], Event()

    def talk(connection):
        requests.append(connection.recv(65536))
        done.wait(TIMEOUT)

    with raw_server(talk) as server:
        with pytest.raises(Unreachable):
            Client(Service(server.url, timeout=TIMEOUT), *CLIENT).refresh("rt_0")
        done.set()
    assert len(requests) == 2


def test_a_repeated_refresh_arrives_within_the_grace_of_authsite():
    """It arrives after one exchange and one connection."""
    assert settings().refresh_grace.total_seconds() > 2 * client_module.REFRESH_TIMEOUT


@pytest.mark.parametrize("kind", ["threads", "tasks"])
def test_a_save_that_uses_its_session_is_an_error(client, kind):
    """It would wait for itself."""

    def save(tokens):
        if kind == "threads":
            session.user()
        else:
            asyncio.run(asyncio.wait_for(AsyncSession(session).user(), TIMEOUT))

    session = client.resume(OLD, save)
    outcome = Future()

    def refresh():
        try:
            outcome.set_result(session.access_token())
        except RuntimeError as error:
            outcome.set_exception(error)

    Thread(target=refresh, daemon=True).start()
    with pytest.raises(RuntimeError, match=r"save\(\) may not"):
        outcome.result(TIMEOUT)


def test_a_login_that_is_too_old_is_not_refreshed(server, client):
    """RFC 9470: new tokens of the same login are as old; the user logs in again."""
    challenge = 'Bearer error="insufficient_user_authentication", max_age=600'
    body = {"message": "x", "errors": [{"code": "insufficient_user_authentication"}]}
    server.respond = lambda request: (401, {"WWW-Authenticate": challenge}, body)
    session = client.resume(Tokens("at_0", "rt_0", expires_at=9e9, refresh_at=9e9))
    with pytest.raises(ApiError) as raised:
        session.user()
    assert raised.value.code == "insufficient_user_authentication"
    assert [request.path for request in server.requests] == ["/v1/user"]
