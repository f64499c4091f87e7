"""Introspection of tokens for a resource, and of tokens of applications that use codes."""

import pytest

from tests.support import codes
from tests.support.applications import FIRST, THIRD, resource, tokens_of
from tests.support.pages import sign_in
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


PERSONAL_DATA = {"email", "email_verified", "username", "groups"}


def test_a_third_party_learns_from_its_own_token_what_its_scopes_name(site_with):
    site = site_with()
    site.user(confirmed=True)
    server = site.client("resource-server")
    resource(site, MCP, "a", server)
    for scope, told in {
        "a": set(),
        "a email": {"email", "email_verified", "username"},
        "groups": {"groups"},
    }.items():
        keys, tokens = tokens_of(site, scope, audience=MCP, **THIRD)
        for kind in ("access_token", "refresh_token"):
            answer = site.introspect(keys, tokens[kind])
            assert answer["active"] is True
            assert answer.keys() & PERSONAL_DATA == told
        # The resource server is the operator's own.
        assert site.introspect(server, tokens["access_token"]).keys() >= PERSONAL_DATA
    for about in ({}, FIRST):
        keys, tokens = tokens_of(site, "a", **about)
        assert site.introspect(keys, tokens["access_token"]).keys() >= PERSONAL_DATA


def test_a_third_party_learns_no_address_that_is_not_confirmed(site):
    """It would take the address for the person, whichever endpoint tells it."""
    site.user()
    keys, tokens = tokens_of(site, "email groups", **THIRD)
    for kind in ("access_token", "refresh_token"):
        answer = site.introspect(keys, tokens[kind])
        assert answer["active"] is True
        assert answer.keys() & PERSONAL_DATA == {"groups"}


def test_a_token_from_a_code_has_issuer_and_session(site_with):
    site = site_with(**codes.OPENID)
    site.user(confirmed=True)
    sign_in(site)
    keys = codes.application(site)
    tokens = codes.redeem(site, keys, codes.code_of(site, keys))
    for kind in ("access_token", "refresh_token"):
        answer = site.introspect(keys, tokens[kind])
        assert answer["iss"] == codes.ISSUER
        assert answer["sid"] == str(codes.session_of(site).id)
        assert "aud" not in answer
    plain = site.client()
    answer = site.introspect(plain, site.login(plain)["access_token"])
    assert {"iss", "sid"}.isdisjoint(answer)


def test_a_code_for_a_resource_gives_tokens_for_it_alone(site_with):
    site = site_with(**codes.OPENID)
    site.user(confirmed=True)
    sign_in(site)
    keys, server = codes.application(site), site.client("resource-server")
    resource(site, MCP, "mcp:read", server)
    code = codes.code_of(site, keys, "openid mcp:read", audience=MCP)
    refused = codes.redeem(site, keys, code, 400, resource=OTHER)
    assert refused["error"] == "invalid_target"
    tokens = codes.redeem(site, keys, code, resource="https://MCP.example.com")  # still unused
    assert site.introspect(server, tokens["access_token"])["aud"] == MCP
    headers = {"Authorization": f"Bearer {tokens['access_token']}"}
    site.http.get("/v1/oauth/userinfo", headers=headers, status=401)
    unbound = codes.code_of(site, keys)
    refused = codes.redeem(site, keys, unbound, 400, resource=MCP)
    assert refused["error"] == "invalid_target"
