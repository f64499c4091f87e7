"""The option ``resource`` of both middlewares: metadata, challenge and audience (RFC 9728)."""

import asyncio
import contextlib
from typing import NamedTuple

import httpx
import pytest
from webtest import TestApp

from authsite_client import AsgiMiddleware, InvalidToken, ProtectedResource, WsgiMiddleware
from tests.client import test_asgi, test_wsgi
from tests.client.conftest import active
from tests.support.site import bearer

HOST, ISSUER = "https://mcp.example.com", "https://auth.example.org"
MCP = f"{HOST}/mcp"
WELL_KNOWN = "/.well-known/oauth-protected-resource"
METADATA = f'resource_metadata="{HOST}{WELL_KNOWN}/mcp"'


class Answer(NamedTuple):
    status: int
    headers: dict
    body: bytes


@pytest.fixture(params=["wsgi", "asgi"])
def ask(request, verifier):
    """A function that sends a request through one of the middlewares."""
    resource = ProtectedResource(MCP, ISSUER, "notes:read", "Notes")
    options = {"scope": "notes:read", "resource": resource}

    def by_wsgi(path, headers=None, method="GET"):
        app = TestApp(WsgiMiddleware(test_wsgi.show, verifier, **options))
        answer = app.request(path, method=method, headers=headers, status="*")
        return Answer(answer.status_int, answer.headers, answer.body)

    def by_asgi(path, headers=None, method="GET"):
        async def run():
            transport = httpx.ASGITransport(AsgiMiddleware(test_asgi.show, verifier, **options))
            async with httpx.AsyncClient(transport=transport, base_url=HOST) as http:
                return await http.request(method, path, headers=headers)

        answer = asyncio.run(run())
        return Answer(answer.status_code, answer.headers, answer.content)

    return by_wsgi if request.param == "wsgi" else by_asgi


def test_the_metadata_are_open_to_everyone(ask):
    answer = ask(f"{WELL_KNOWN}/mcp")
    assert answer.status == 200
    assert httpx.Response(200, content=answer.body).json() == {
        "resource": MCP,
        "authorization_servers": [ISSUER],
        "scopes_supported": ["notes:read"],
        "bearer_methods_supported": ["header"],
        "resource_name": "Notes",
    }
    assert answer.headers["Access-Control-Allow-Origin"] == "*"
    assert answer.headers["Content-Type"] == "application/json"


@pytest.mark.parametrize(
    ("path", "method"), [(f"{WELL_KNOWN}/mcp", "POST"), (WELL_KNOWN, "GET"), ("/mcp", "GET")]
)
def test_all_else_needs_a_token_and_says_where_there_are_some(ask, path, method):
    answer = ask(path, method=method)
    assert answer.status == 401
    challenge = answer.headers["WWW-Authenticate"]
    assert challenge == f'Bearer realm="authsite", scope="notes:read", {METADATA}'


@pytest.mark.parametrize(
    ("claims", "status", "error"),
    [
        ({"aud": MCP, "scope": "notes:read"}, 200, None),
        ({"aud": [MCP, "x"], "scope": "notes:read"}, 200, None),
        ({"scope": "notes:read"}, 401, "invalid_token"),
        ({"aud": f"{MCP}x", "scope": "notes:read"}, 401, "invalid_token"),
        ({"aud": MCP, "scope": "other"}, 403, "insufficient_scope"),
    ],
)
def test_a_token_must_be_for_this_resource(server, ask, claims, status, error):
    server.respond = lambda request: active(request, **claims)
    answer = ask("/mcp", bearer("at_1"))
    assert answer.status == status
    if error:
        challenge = answer.headers["WWW-Authenticate"]
        assert f'error="{error}"' in challenge
        assert challenge.endswith(METADATA)


@pytest.mark.parametrize(
    ("written", "registered", "same"),
    [
        (HOST, f"{HOST}/", True),
        (f"{HOST}/", HOST, True),
        (MCP, "HTTPS://MCP.example.com/mcp", True),
        (MCP, f"{MCP}/", False),
        (MCP, f"{HOST}/MCP", False),
        (HOST, MCP, False),
    ],
)
def test_a_resource_may_be_written_as_libraries_write_it(
    server, verifier_of, written, registered, same
):
    """They add a slash to a URL without a path, or take it away."""
    server.respond = lambda request: active(request, aud=registered)
    with contextlib.nullcontext() if same else pytest.raises(InvalidToken):
        verifier_of(server.url).verify("at_1", resource=ProtectedResource(written, ISSUER))


@pytest.mark.parametrize(
    "uri", ["mcp.example.com", "urn:mcp", f"{MCP}?x=1", f"{MCP}#x", "https:///mcp", ""]
)
def test_a_resource_is_a_url(uri):
    with pytest.raises(ValueError, match="give a URL"):
        ProtectedResource(uri, ISSUER)
