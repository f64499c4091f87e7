"""The token of a WebSocket in a subprotocol, for browsers."""

import asyncio

import pytest

from authsite_client import IDENTITY, AsgiMiddleware
from tests.client.conftest import by_token

TOKEN = "authsite.bearer.at_1"


@pytest.fixture
def server(server):
    server.respond = by_token
    return server


class Application:
    """Accepts a WebSocket with ``subprotocol``, and keeps its scope."""

    def __init__(self, subprotocol=None):
        self.subprotocol = subprotocol
        self.scope = None

    async def __call__(self, scope, receive, send):
        self.scope = scope
        message = {"type": "websocket.accept", "headers": []}
        if self.subprotocol:
            message["subprotocol"] = self.subprotocol
        await send(message)
        await send({"type": "websocket.send", "text": "hello"})


def scope_of(protocols, headers=(), path="/live"):
    """What a server makes of the header with these subprotocols."""
    pairs = [(b"host", b"app.example.org"), *headers]
    if protocols:
        pairs.append((b"sec-websocket-protocol", ", ".join(protocols).encode()))
    return {"type": "websocket", "path": path, "headers": pairs, "subprotocols": list(protocols)}


def opened(verifier, scope, app=None, **options):
    """The application and what it, or the middleware, sends."""
    app, messages = app or Application(), []

    async def send(message):
        messages.append(message)

    middleware = AsgiMiddleware(app, verifier, **{"websocket_protocol": True, **options})
    asyncio.run(middleware(scope, None, send))
    return app, messages


def test_a_token_in_a_subprotocol_opens_the_connection(verifier):
    app, messages = opened(verifier, scope_of([TOKEN]))
    assert app.scope[IDENTITY].username == "ann@example.com"
    assert messages[1] == {"type": "websocket.send", "text": "hello"}


def test_the_response_names_that_subprotocol_if_the_application_names_none(verifier):
    """Else a browser closes the connection (RFC 6455, section 4.1)."""
    _, messages = opened(verifier, scope_of([TOKEN]))
    assert messages[0] == {"type": "websocket.accept", "headers": [], "subprotocol": TOKEN}


def test_the_response_names_the_subprotocol_of_the_application(verifier):
    app, messages = opened(verifier, scope_of(["notes.v1", TOKEN]), Application("notes.v1"))
    assert messages[0]["subprotocol"] == "notes.v1"
    assert app.scope["subprotocols"] == ["notes.v1"]


def test_the_application_does_not_see_the_token(verifier):
    app, _ = opened(verifier, scope_of(["notes.v1", TOKEN, "notes.v2"]))
    assert app.scope["subprotocols"] == ["notes.v1", "notes.v2"]
    headers = dict(app.scope["headers"])
    assert headers[b"sec-websocket-protocol"] == b"notes.v1, notes.v2"
    assert "at_1" not in repr(app.scope)
    app, _ = opened(verifier, scope_of([TOKEN]))
    assert [name for name, _ in app.scope["headers"]] == [b"host"]


def test_an_exempt_path_does_not_see_the_token_either(verifier, server):
    app, messages = opened(verifier, scope_of([TOKEN], path="/open"), exempt=["/open"])
    assert "at_1" not in repr(app.scope)
    assert messages[0]["subprotocol"] == TOKEN
    assert server.requests == []


def test_a_header_opens_the_connection_as_before(verifier):
    header = (b"authorization", b"Bearer at_1")
    app, messages = opened(verifier, scope_of([], [header]))
    assert app.scope[IDENTITY].owner == "user"
    assert "subprotocol" not in messages[0]
    basic = (b"authorization", b"Basic eDp5")  # of a proxy before the application
    app, _ = opened(verifier, scope_of([TOKEN], [basic]))
    assert app.scope[IDENTITY].owner == "user"


CLOSED = [{"type": "websocket.close", "code": 1008}]


@pytest.mark.parametrize(
    "scope",
    [
        scope_of([]),
        scope_of(["notes.v1"]),
        scope_of(["authsite.bearer."]),
        scope_of(["authsite.bearer"]),
        scope_of(["authsite.bearer.dead_1"]),
        scope_of(["authsite.bearer.rt_1"]),
        scope_of(["authsite.bearer.at_client"]),
        scope_of([TOKEN, TOKEN]),
        scope_of([TOKEN, "authsite.bearer.at_2"]),
        scope_of([TOKEN], [(b"authorization", b"Bearer at_1")]),
        scope_of([TOKEN], [(b"authorization", b"bearer")]),
        {**scope_of([]), "query_string": b"access_token=at_1&token=at_1"},
    ],
)
def test_anything_else_is_closed_before_it_opens(verifier, scope):
    app, messages = opened(verifier, scope)
    assert app.scope is None
    assert messages == CLOSED


def test_without_the_option_a_subprotocol_is_no_credential(verifier):
    app, messages = opened(verifier, scope_of([TOKEN]), websocket_protocol=False)
    assert app.scope is None
    assert messages == CLOSED


def test_in_an_http_request_a_subprotocol_is_no_credential(verifier):
    app, messages = opened(verifier, {**scope_of([TOKEN]), "type": "http"})
    assert app.scope is None
    assert messages[0]["status"] == 401


def test_no_log_line_has_the_token(verifier, caplog, server):
    caplog.set_level("DEBUG")
    server.respond = lambda request: (500, {}, b"")
    opened(verifier, scope_of(["authsite.bearer.at_hidden"]))
    assert "status 500" in caplog.text
    assert "hidden" not in caplog.text
