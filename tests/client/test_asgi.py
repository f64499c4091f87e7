"""The ASGI middleware: HTTP, WebSockets and what is neither."""

import asyncio
import json

import httpx
import pytest

from authsite_client import AsgiMiddleware
from authsite_client.wsgi import IDENTITY
from tests.support.site import bearer

URL = "http://app.example.org"


async def show(scope, receive, send):
    """An application that names the user, if there is one; other protocols it takes as well."""
    if scope["type"] != "http":
        await send({"type": f"{scope['type']}.accepted", "identity": scope.get(IDENTITY)})
        return
    identity = scope.get(IDENTITY)
    headers = [(b"content-type", b"application/json")]
    await send({"type": "http.response.start", "status": 200, "headers": headers})
    body = json.dumps(identity and identity.username).encode()
    await send({"type": "http.response.body", "body": body})


@pytest.fixture
def get(verifier):
    """A factory of responses: ``get("/path", headers, scope="…")``."""

    def ask(path="/", headers=None, root_path="", **options):
        async def run():
            app = AsgiMiddleware(show, verifier, **options)
            transport = httpx.ASGITransport(app, root_path=root_path)
            async with httpx.AsyncClient(transport=transport, base_url=URL) as http:
                return await http.get(path, headers=headers)

        return asyncio.run(run())

    return ask


def test_a_request_with_a_token_reaches_the_application_with_its_identity(get):
    answer = get(headers=bearer("at_1"))
    assert (answer.status_code, answer.json()) == (200, "ann@example.com")


def test_a_request_without_a_token_gets_a_challenge_without_an_error(get):
    answer = get()
    assert answer.status_code == 401
    assert answer.headers["WWW-Authenticate"] == 'Bearer realm="authsite"'
    assert answer.json()["errors"] == []


@pytest.mark.parametrize(
    "headers",
    [
        bearer("dead_1"),
        [("Authorization", "Bearer at_1"), ("Authorization", "Bearer at_2")],
        [("Authorization", "Bearer at_1"), ("authorization", "Bearer at_1")],
        {"Authorization": b"Bearer at_\xff"},
    ],
)
def test_a_request_with_an_invalid_token_is_told_so(get, headers):
    answer = get(headers=headers)
    assert answer.status_code == 401
    assert answer.headers["WWW-Authenticate"] == 'Bearer realm="authsite", error="invalid_token"'


def test_a_token_without_the_scope_gets_403_with_the_scope(get):
    answer = get(headers=bearer("at_1"), scope="notes:share")
    assert answer.status_code == 403
    assert 'scope="notes:share"' in answer.headers["WWW-Authenticate"]
    assert get(headers=bearer("at_1"), scope="notes:read").status_code == 200


def test_authsite_away_is_503_with_a_time(server, get):
    server.respond = lambda request: (502, {}, b"")
    answer = get(headers=bearer("at_1"))
    assert (answer.status_code, answer.headers["Retry-After"]) == (503, "1")


@pytest.mark.parametrize(
    ("root_path", "path", "status"),
    [
        ("", "/health", 200),
        ("", "/health/x", 401),
        ("/svc", "/svc/health", 200),
        ("/svc", "/svc", 401),
        ("/svc", "/svcx/health", 401),
        ("/svc", "/health", 200),  # a server whose path does not have the root
    ],
)
def test_paths_are_those_of_the_application(get, root_path, path, status):
    assert get(path, root_path=root_path, exempt=["/health"]).status_code == status


def sent(verifier, scope):
    """The messages that the middleware or the application sends."""
    messages = []

    async def send(message):
        messages.append(message)

    asyncio.run(AsgiMiddleware(show, verifier)(scope, None, send))
    return messages


SOCKET = {"type": "websocket", "path": "/live", "headers": []}


def test_a_websocket_with_a_token_is_accepted(verifier):
    headers = [(b"authorization", b"Bearer at_1")]
    [message] = sent(verifier, {**SOCKET, "headers": headers})
    assert message["identity"].username == "ann@example.com"


def test_a_websocket_without_a_token_is_closed_before_it_opens(verifier):
    assert sent(verifier, dict(SOCKET)) == [{"type": "websocket.close", "code": 1008}]


def test_a_websocket_gets_the_whole_response_where_the_server_can_send_it(verifier):
    extension = {"extensions": {"websocket.http.response": {}}}
    start, body = sent(verifier, {**SOCKET, **extension})
    assert (start["type"], start["status"]) == ("websocket.http.response.start", 401)
    assert (b"www-authenticate", b'Bearer realm="authsite"') in start["headers"]
    assert body["type"] == "websocket.http.response.body"


def test_lifespan_reaches_the_application(verifier):
    [message] = sent(verifier, {"type": "lifespan"})
    assert message == {"type": "lifespan.accepted", "identity": None}
