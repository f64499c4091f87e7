"""The token of a third party means what its scopes say; a token for a resource opens that alone."""

import asyncio

import httpx
import pytest
from webtest import TestApp

from authsite_client import AsgiMiddleware, InvalidToken, ProtectedResource, WsgiMiddleware
from tests.client import test_asgi, test_wsgi
from tests.client.conftest import active
from tests.support.site import bearer

API, OTHER = "https://api.example.org/", "https://other.example.org/"
SCOPED = ProtectedResource(API, "https://auth.example.org", "notes:read")
WITHOUT_SCOPES = ProtectedResource(API, "https://auth.example.org")


def by_wsgi(verifier, **options):
    app = TestApp(WsgiMiddleware(test_wsgi.show, verifier, **options))
    answer = app.get("/", headers=bearer("at_1"), status="*")
    return answer.status_int, answer.headers.get("WWW-Authenticate", "")


def by_asgi(verifier, **options):
    async def run():
        transport = httpx.ASGITransport(AsgiMiddleware(test_asgi.show, verifier, **options))
        async with httpx.AsyncClient(transport=transport, base_url="https://x.example") as http:
            return await http.get("/", headers=bearer("at_1"))

    answer = asyncio.run(run())
    return answer.status_code, answer.headers.get("WWW-Authenticate", "")


@pytest.fixture(params=[by_wsgi, by_asgi])
def ask(request):
    return request.param


@pytest.mark.parametrize(
    ("claims", "options", "status"),
    [
        ({}, {}, 403),
        ({"scope": "notes:read"}, {}, 403),
        ({"scope": "notes:read"}, {"scope": "notes:read"}, 200),
        ({"aud": API}, {"resource": SCOPED}, 403),
        ({"aud": API, "scope": "notes:read"}, {"resource": SCOPED, "scope": "notes:read"}, 200),
        ({"aud": API}, {"resource": WITHOUT_SCOPES}, 200),
    ],
)
def test_a_third_party_passes_only_where_a_scope_is_required(
    server, verifier, ask, claims, options, status
):
    server.respond = lambda request: active(request, third_party=True, **{"scope": "", **claims})
    answered, challenge = ask(verifier, **options)
    assert answered == status
    assert ('error="insufficient_scope"' in challenge) == (status == 403)
    server.respond = lambda request: active(request, third_party=False, **{"scope": "", **claims})
    own = type(verifier)(server.url, "id", "secret", cache=0)
    assert ask(own, **options)[0] == 200
    own.close()


@pytest.mark.parametrize(("options", "status"), [({}, 401), ({"resource": SCOPED}, 200)])
def test_a_token_for_a_resource_passes_at_that_one_alone(server, verifier, ask, options, status):
    server.respond = lambda request: active(request, aud=API)
    assert ask(verifier, **options)[0] == status


def test_a_verifier_without_an_audience_accepts_no_token_for_a_resource(server, verifier_of):
    server.respond = lambda request: active(request, aud=API)
    verifier = verifier_of(server.url)
    for _ in range(2):  # from the service, then from the cache
        with pytest.raises(InvalidToken):
            verifier.verify("at_1")
        with pytest.raises(InvalidToken):
            asyncio.run(verifier.verify_header_async("Bearer at_1", "notes:read"))
    assert verifier.verify("at_1", resource=SCOPED).audience == (API,)
    assert verifier_of(server.url, audience=API).verify("at_1").audience == (API,)


def test_what_a_middleware_has_let_through_is_still_active(server, verifier):
    server.respond = lambda request: active(request, aud=API)
    identity = verifier.verify_header("Bearer at_1", resource=SCOPED)
    assert identity.still_active()
    assert asyncio.run(identity.still_active_async())


@pytest.mark.parametrize("value", ["true", 1, None])
def test_whose_it_is_is_true_or_false(server, verifier, value):
    server.respond = lambda request: active(request, third_party=value)
    assert by_wsgi(verifier)[0] == 503
