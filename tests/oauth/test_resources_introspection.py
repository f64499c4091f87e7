"""Introspection of tokens for a resource, and of tokens of applications that use codes."""

import pytest

from tests.support.applications import FIRST, THIRD, resource, tokens_of
from tests.support.statements import counted

MCP, OTHER = "https://mcp.example.com/", "https://other.example.com/"
INACTIVE = {"active": False}


@pytest.fixture
def server(site):
    site.user()
    made = site.client("resource-server")
    resource(site, MCP, "mcp:read", made)
    return made


@pytest.fixture
def stranger(site, server):
    made = site.client("resource-server")
    resource(site, OTHER, "mcp:read", made)
    resource(site, "https://nobody.example.com/", "mcp:read")
    return made


@pytest.mark.parametrize("about", [{}, FIRST, THIRD])
def test_a_bound_token_is_active_for_its_client_and_its_server_alone(site, server, stranger, about):
    keys, tokens = tokens_of(site, "mcp:read", audience=MCP, **about)
    for asking in (keys, server):
        answer = site.introspect(asking, tokens["access_token"])
        assert (answer["active"], answer["aud"]) == (True, MCP)
        assert answer["scope"] == "mcp:read"
    assert site.introspect(stranger, tokens["access_token"]) == INACTIVE
    assert site.introspect(site.client(), tokens["access_token"]) == INACTIVE
    assert site.introspect(server, tokens["refresh_token"]) == INACTIVE
    assert site.introspect(keys, tokens["refresh_token"])["aud"] == MCP


def test_a_resource_without_a_server_has_none(site, server, stranger):
    keys, tokens = tokens_of(site, "mcp:read", audience="https://nobody.example.com/")
    for asking in (server, stranger):
        assert site.introspect(asking, tokens["access_token"]) == INACTIVE
    assert site.introspect(keys, tokens["access_token"])["active"] is True


def test_without_an_audience_a_third_party_s_token_is_active_for_its_own_client_alone(site, server):
    """9.3: row 16's “any” does not include it."""
    keys, tokens = tokens_of(site, "mcp:read", **THIRD)
    assert site.introspect(server, tokens["access_token"]) == INACTIVE
    answer = site.introspect(keys, tokens["access_token"])
    assert answer["active"] is True
    assert "aud" not in answer


def test_a_first_party_s_token_without_an_audience_is_active_for_every_server(site, server):
    for about in ({}, FIRST):
        _, tokens = tokens_of(site, "mcp:read", **about)
        answer = site.introspect(server, tokens["access_token"])
        assert answer["active"] is True
        assert "aud" not in answer


def test_a_client_s_own_token_for_a_resource(site, server, stranger):
    keys = site.client("personal", scope="mcp:read", default_scope="mcp:read")
    form = {"grant_type": "client_credentials", "resource": MCP}
    token = site.token(keys, **form).json["access_token"]
    assert site.introspect(server, token)["aud"] == MCP
    assert site.introspect(stranger, token) == INACTIVE


def test_only_a_bound_token_takes_a_query_more(site, server):
    for about, queries in ((FIRST, 1), (THIRD, 1), ({"audience": MCP}, 2)):
        _, tokens = tokens_of(site, "mcp:read", **about)
        with counted(site.database) as statements:
            site.introspect(server, tokens["access_token"])
        assert len(statements) == queries
