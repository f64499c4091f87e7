"""Who may pass a middleware: users, clients, and users with a confirmed address."""

import asyncio
import json

import httpx
import pytest
from webtest import TestApp

from authsite_client import AsgiMiddleware, WsgiMiddleware
from tests.client.conftest import by_token
from tests.support.site import bearer


@pytest.fixture
def server(server):
    server.respond = by_token
    return server


def wsgi_app(environ, start_response):
    start_response("200 OK", [("Content-Type", "text/plain")])
    return [b"passed"]


async def asgi_app(scope, receive, send):
    await send({"type": "http.response.start", "status": 200, "headers": []})
    await send({"type": "http.response.body", "body": b"passed"})


def from_wsgi(verifier, token, options):
    app = TestApp(WsgiMiddleware(wsgi_app, verifier, **options), lint=False)
    answer = app.get("/", headers=bearer(token), expect_errors=True)
    return answer.status_int, answer.headers, answer.body


def from_asgi(verifier, token, options):
    async def run():
        transport = httpx.ASGITransport(AsgiMiddleware(asgi_app, verifier, **options))
        async with httpx.AsyncClient(transport=transport, base_url="http://app") as http:
            return await http.get("/", headers=bearer(token))

    answer = asyncio.run(run())
    return answer.status_code, answer.headers, answer.content


@pytest.fixture(params=[from_wsgi, from_asgi], ids=["wsgi", "asgi"])
def ask(request):
    return request.param


@pytest.mark.parametrize(
    ("options", "token", "code"),
    [
        ({}, "at_1", None),
        ({}, "at_unconfirmed", None),
        ({}, "at_client", "user_required"),
        ({"caller": "user"}, "at_client", "user_required"),
        ({"caller": "client"}, "at_client", None),
        ({"caller": "client"}, "at_1", "client_required"),
        ({"caller": "any"}, "at_1", None),
        ({"caller": "any"}, "at_client", None),
        ({"verified": True}, "at_1", None),
        ({"verified": True}, "at_unconfirmed", "email_not_verified"),
        ({"verified": True}, "at_client", "user_required"),
        ({"verified": True, "caller": "any"}, "at_client", None),
        ({"verified": True, "caller": "any"}, "at_unconfirmed", "email_not_verified"),
        ({"scope": "notes:read"}, "at_client", "insufficient_scope"),
        ({"scope": "notes:read", "caller": "any"}, "at_client", "insufficient_scope"),
    ],
)
def test_who_passes_and_who_gets_403(ask, verifier, options, token, code):
    status, _, body = ask(verifier, token, options)
    if code is None:
        assert (status, body) == (200, b"passed")
    else:
        answer = json.loads(body)
        [error] = answer["errors"]
        assert (status, error["code"], error["field"]) == (403, code, None)
        assert error["message"] == answer["message"]


def test_the_verifier_of_a_middleware_may_want_confirmed_users(ask, server, verifier_of):
    verifier = verifier_of(server.url, verified=True)
    for options in ({}, {"caller": "any"}, {"verified": False}):
        assert ask(verifier, "at_unconfirmed", options)[0] == 403
    assert ask(verifier, "at_client", {"caller": "any"})[0] == 200


def test_a_token_that_lacks_nothing_but_its_user_gets_no_challenge(ask, verifier):
    """Another token of the same kind would not help (RFC 6750, section 3.1)."""
    _, headers, _ = ask(verifier, "at_client", {})
    assert "WWW-Authenticate" not in headers
    assert headers["Cache-Control"] == "no-store"


@pytest.mark.parametrize("caller", ["users", "", None, "any "])
@pytest.mark.parametrize("middleware", [AsgiMiddleware, WsgiMiddleware])
def test_another_kind_of_caller_is_an_error_at_once(verifier, middleware, caller):
    with pytest.raises(ValueError, match='"user", "client" or "any"'):
        middleware(None, verifier, caller=caller)
