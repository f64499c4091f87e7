"""Tokens for one resource (RFC 8707): the parameter ``resource``, scopes, and the audience."""

import pytest
from sqlalchemy import select

from authsite.oauth import resources
from authsite.oauth.models import Family, Resource
from authsite.sign_in.credentials import unpack
from tests.support.acting import acting
from tests.support.applications import default_resource, resource
from tests.support.site import WEB
from tests.support.statements import counted

MCP, OTHER = "https://mcp.example.com/", "https://api.example.com/v1?x=Y"
SCOPES = "mcp:read mcp:write"


@pytest.fixture
def keys(site):
    site.user()
    resource(site, MCP, SCOPES)
    resource(site, OTHER)
    return site.client(scope=f"{SCOPES} notes:read", default_scope="mcp:read notes:read")


def audiences(site):
    with site.db() as db:
        return [unpack(text).audience for text in db.scalars(select(Family.facts))]


def machine(site, uri, status=200, **form):
    keys = site.client("personal", scope=SCOPES, default_scope=SCOPES)
    return keys, site.token(
        keys, status, grant_type="client_credentials", resource=uri, **form
    ).json


@pytest.mark.parametrize(
    "sent",
    [
        "https://mcp.example.com/",
        "https://mcp.example.com",
        "HTTPS://MCP.Example.COM",
        "hTTps://mcp.EXAMPLE.com/",
    ],
)
def test_trap_18_scheme_and_host_without_case_and_an_empty_path_is_a_slash(site, keys, sent):
    """Clients add a slash to the URI of a resource, or leave it out."""
    site.login(keys, resource=sent)
    assert audiences(site) == [MCP]


@pytest.mark.parametrize(
    "registered", ["https://x.example.com", "HTTPS://X.Example.com", "https://X.example.com/"]
)
def test_the_audience_is_the_text_that_was_registered(site, registered):
    site.user()
    resource(site, registered)
    site.login(site.client(), resource="https://x.example.com/")
    assert audiences(site) == [registered]


@pytest.mark.parametrize(
    "sent",
    [
        "https://mcp.example.com/mcp",
        "https://mcp.example.com//",
        "https://mcp.example.com/?",
        "https://mcp.example.com:443/",
        "https://mcp.example.com/#x",
        "https://mcp.example.com.evil.example/",
        "http://mcp.example.com/",
        "https://api.example.com/V1?x=Y",
        "https://api.example.com/v1?x=y",
        "https://api.example.com/v1/?x=Y",
        "mcp.example.com",
        "/",
        "x",
        "https://mcp.example.com/ ",
        "https://mcp.example.com/é",
    ],
)
def test_any_other_resource_is_an_invalid_target(site, keys, sent):
    for form in (
        {"grant_type": "password", "username": "ann@example.com", "password": "wrong"},
        {"grant_type": "refresh_token", "refresh_token": site.login(keys)["refresh_token"]},
    ):
        answer = site.token(keys, 400, resource=sent, **form).json
        assert answer["error"] == "invalid_target"
    assert machine(site, sent, 400)[1]["error"] == "invalid_target"
    assert audiences(site) == [None]


def test_a_query_is_part_of_the_uri(site, keys):
    site.login(keys, resource="https://API.example.com/v1?x=Y")
    assert audiences(site) == [OTHER]


@pytest.mark.parametrize("grant", ["password", "client_credentials", "refresh_token"])
def test_two_resources_are_an_invalid_request(site, keys, grant):
    """One per token: the answer does not depend on whether they are the same."""
    form = {"grant_type": grant, "username": "x", "password": "x", "refresh_token": "rt_x"}
    pairs = [*keys.form(**form).items(), ("resource", MCP), ("resource", MCP)]
    answer = site.http.post("/v1/oauth/token", pairs, status=400).json
    assert answer["error"] == "invalid_request"


def test_without_a_resource_nothing_changes(site, keys):
    for sent in ({}, {"resource": ""}):
        assert site.login(keys, **sent)["scope"] == "mcp:read notes:read"
    assert audiences(site) == [None, None]


def test_the_scopes_are_those_of_the_resource_and_others_are_left_out(site, keys):
    assert site.login(keys, resource=MCP)["scope"] == "mcp:read"
    asked = site.login(keys, resource=MCP, scope="mcp:write notes:read")
    assert asked["scope"] == "mcp:write"
    assert "scope" not in site.login(keys, resource=OTHER)  # none, as asked for
    wrong = site.login(keys, resource=MCP, scope="mcp:read unknown", status=400)
    assert wrong["error"] == "invalid_scope"


def test_the_scopes_of_openid_connect_are_kept():
    found = resources.RegisteredResource(MCP, "a b", None, "opaque")
    asked = "openid a profile email phone groups offline_access account notes:read"
    kept = "openid a profile email phone groups offline_access"
    assert resources.scope_for(found, asked) == kept
    assert resources.scope_for(None, asked) == asked


def test_a_client_that_acts_for_itself(site, keys):
    _, tokens = machine(site, "https://MCP.example.com", scope="mcp:read")
    assert audiences(site) == [MCP]
    assert site.http.get(
        "/v1/guard/api?scope=mcp:read",
        headers={"Authorization": f"Bearer {tokens['access_token']}"},
        status=401,
    )


def test_the_default_resource_of_a_client(site, keys):
    default_resource(site, keys, "https://mcp.example.com")
    site.login(keys)
    site.login(keys, resource=OTHER)
    assert sorted(audiences(site)) == sorted([MCP, OTHER])
    default_resource(site, keys, "https://gone.example.com/")
    assert site.login(keys, status=400)["error"] == "invalid_target"


def test_the_default_resource_holds_at_the_proxy_too(site_with):
    site = site_with(**WEB)
    site.user()
    default_resource(site, site.first_party("web"), resource(site, MCP))
    form = {"username": "ann@example.com", "password": "correct horse battery"}
    site.http.post("/v1/clients/web/login", form, status=200)
    assert audiences(site) == [MCP]


def test_a_refresh_may_repeat_the_resource_and_no_other(site, keys):
    tokens = site.login(keys, resource=MCP)
    for sent in ({}, {"resource": MCP}, {"resource": "https://MCP.example.com"}):
        tokens = site.refresh(keys, tokens["refresh_token"], **sent)
    other = site.refresh(keys, tokens["refresh_token"], 400, resource=OTHER)
    assert other["error"] == "invalid_target"
    wider = site.refresh(keys, tokens["refresh_token"], 400, scope="notes:read")
    assert wider["error"] == "invalid_scope"
    site.refresh(keys, tokens["refresh_token"], resource=MCP)  # the refusals used nothing up
    assert audiences(site) == [MCP]


def test_a_refresh_makes_no_bound_token_of_one_that_is_for_no_resource(site, keys):
    tokens = site.login(keys)
    answer = site.refresh(keys, tokens["refresh_token"], 400, resource=MCP)
    assert answer["error"] == "invalid_target"


def test_a_refresh_holds_to_the_scopes_that_the_resource_has_now(site, keys):
    tokens = site.login(keys, resource=MCP, scope=SCOPES)
    with site.db() as db:
        row = db.scalars(select(Resource).where(Resource.uri == MCP)).one()
        resources.change(acting(db), row, scopes="mcp:read more", client_id=None)
    assert site.introspect(keys, tokens["refresh_token"])["scope"] == "mcp:read"
    assert site.refresh(keys, tokens["refresh_token"])["scope"] == "mcp:read"


def test_tokens_for_a_resource_that_was_removed_are_not_refreshed(site, keys):
    server = site.client("resource-server")
    gone = resource(site, "https://gone.example.com/", "mcp:read", server)
    tokens = site.login(keys, resource=gone)
    assert site.introspect(server, tokens["access_token"])["active"] is True
    with site.db() as db:
        resources.remove(acting(db), db.scalars(select(Resource).where(Resource.uri == gone)).one())
    answer = site.refresh(keys, tokens["refresh_token"], 400)
    assert answer["error"] == "invalid_grant"
    assert site.introspect(keys, tokens["refresh_token"]) == {"active": False}
    assert site.introspect(server, tokens["access_token"]) == {"active": False}
    # The client may know about a token it got itself.
    assert site.introspect(keys, tokens["access_token"])["active"] is True


def test_a_login_without_a_resource_reads_none(site, keys):
    site.login(keys)
    with counted(site.database) as plain:
        site.login(keys)
    assert not any("resources" in each for each in plain)


def test_with_a_resource_a_login_and_a_refresh_read_it_once(site, keys):
    machines, _tokens = machine(site, MCP)
    tokens = site.login(keys, resource=MCP)
    for send in (
        lambda: site.login(keys, resource=MCP),
        lambda: site.token(machines, grant_type="client_credentials", resource=MCP),
        lambda: site.refresh(keys, tokens["refresh_token"], resource=MCP),
    ):
        with counted(site.database) as seen:
            send()
        assert sum("resources" in each for each in seen) == 1, seen
