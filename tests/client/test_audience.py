"""The option ``audience``: a verifier for one resource accepts tokens for that resource alone."""

import asyncio

import pytest

from authsite_client import InvalidToken, Unavailable
from tests.client.conftest import active

MCP = "https://mcp.example.com/"


@pytest.mark.parametrize(
    ("aud", "audience"),
    [(MCP, (MCP,)), ([MCP, "x"], (MCP, "x"))],
)
def test_the_audience_is_one_text_or_a_list(server, verifier_of, aud, audience):
    server.respond = lambda request: active(request, aud=aud)
    assert verifier_of(server.url, audience=MCP).verify("at_1").audience == audience


def test_an_empty_list_is_none(server, verifier):
    server.respond = lambda request: active(request, aud=[])
    assert verifier.verify("at_1").audience == ()


def test_a_token_for_no_resource_has_none(verifier):
    assert verifier.verify("at_1").audience == ()


@pytest.mark.parametrize("aud", [1, None, [1], {"a": 1}])
def test_any_other_audience_opens_nothing(server, verifier, aud):
    server.respond = lambda request: active(request, aud=aud)
    with pytest.raises(Unavailable):
        verifier.verify("at_1")


@pytest.mark.parametrize(
    "aud", ["https://other.example.com/", "https://mcp.example.com", ["x"], []]
)
def test_a_verifier_for_one_resource_refuses_other_tokens(server, verifier_of, aud):
    verifier = verifier_of(server.url, audience=MCP)
    server.respond = lambda request: active(request, aud=aud)
    for _ in range(2):  # from the service, then from the cache
        with pytest.raises(InvalidToken):
            verifier.verify("at_1")
        with pytest.raises(InvalidToken):
            asyncio.run(verifier.verify_header_async("Bearer at_1"))


def test_it_accepts_those_for_its_resource(server, verifier_of):
    verifier = verifier_of(server.url, audience=MCP)
    for aud in (MCP, ["x", MCP]):
        server.respond = lambda request, aud=aud: active(request, aud=aud)
        for _ in range(2):
            assert MCP in verifier.verify(f"at_{len(aud)}").audience


def test_without_the_claim_it_accepts_nothing(verifier_of, server):
    with pytest.raises(InvalidToken):
        verifier_of(server.url, audience=MCP).verify("at_1")
