"""``config.add_protected_resource``: routes of a host that are a resource (RFC 9728)."""

import pytest
from pyramid.exceptions import ConfigurationError

from tests.support.applications import resource
from tests.support.codes import ISSUER
from tests.support.host import hello
from tests.support.members import in_group
from tests.support.pages import sign_in
from tests.support.personal import created
from tests.support.site import bearer

MCP, FILES = "https://app.example.org/mcp", "https://app.example.org/files/"
WELL_KNOWN = "/.well-known/oauth-protected-resource"
JSON = {"Accept": "application/json"}
ROUTES = {
    "mcp": ("/mcp", {"guard": "api"}),
    "read": ("/mcp/notes/read", {"guard": "api", "scope": "notes:read"}),
    "write": ("/mcp/notes/write", {"guard": "api", "scope": "notes:write"}),
    "beside": ("/mcpx", {"guard": "api"}),
    "open": ("/mcp/open", {"guard": "api", "anonymous": True}),
    "page": ("/mcp/page", {"guard": "web"}),
    "files": ("/files/one", {"guard": "api"}),
    "tree": ("/tree/*rest", {"guard": "api"}),
    "below": ("/mcp/below/*rest", {"guard": "api"}),
}


def build(config):
    config.add_protected_resource(MCP, "notes:read notes:write", "Notes")
    config.add_protected_resource(FILES)
    for name, (path, options) in ROUTES.items():
        config.add_route(name, path, **options)
        config.add_view(hello, route_name=name)


@pytest.fixture
def site(host_with):
    made = host_with(build, base_url=ISSUER, scopes="notes:read: Read\nnotes:write: Write")
    made.user(confirmed=True)
    resource(made, MCP, "notes:read notes:write")
    resource(made, FILES, "notes:read")
    return made


@pytest.fixture
def keys(site):
    return site.client(scope="notes:read notes:write", default_scope="notes:read")


def ask(site, path, token=None, status=200):
    headers = {**JSON, **(bearer(token) if token else {})}
    return site.http.get(path, headers=headers, status=status)


def token_for(site, keys, uri):
    return (
        site.login(keys, resource=uri)["access_token"] if uri else site.login(keys)["access_token"]
    )


def test_the_metadata_name_the_authorization_server(site):
    answer = site.http.get(f"{WELL_KNOWN}/mcp", headers={"Origin": "https://x.example"})
    assert answer.json == {
        "resource": MCP,
        "authorization_servers": [ISSUER],
        "scopes_supported": ["notes:read", "notes:write"],
        "bearer_methods_supported": ["header"],
        "resource_name": "Notes",
    }
    assert answer.headers["Access-Control-Allow-Origin"] == "*"
    assert answer.headers["Cache-Control"] == "public, max-age=300"
    other = site.http.get(f"{WELL_KNOWN}/files").json
    assert (other["resource"], "scopes_supported" in other) == (FILES, False)
    site.http.get(WELL_KNOWN, headers=JSON, status=404)


def test_a_request_without_a_token_is_told_where_they_are(site):
    challenge = ask(site, "/mcp/notes/read", status=401).headers["WWW-Authenticate"]
    assert challenge == (
        'Bearer realm="authsite", scope="notes:read", '
        'resource_metadata="https://app.example.org/.well-known/oauth-protected-resource/mcp"'
    )
    assert "resource_metadata" not in ask(site, "/mcpx", status=401).headers["WWW-Authenticate"]
    assert "resource_metadata" not in ask(site, "/v1/user", status=401).headers["WWW-Authenticate"]


@pytest.mark.parametrize(
    ("uri", "path", "status"),
    [
        (MCP, "/mcp", 200),
        ("HTTPS://APP.example.org/mcp", "/mcp", 200),
        (MCP, "/mcp/notes/read", 200),
        (MCP, "/mc%70", 200),
        (MCP, "/mcpx", 401),
        (MCP, "/files/one", 401),
        (FILES, "/files/one", 200),
        (FILES, "/mcp", 401),
        (None, "/mcp", 401),
        (None, "/mcp/open", 401),
        (None, "/mcpx", 200),
        (MCP, "/v1/user", 401),
        (MCP, "/mcp/page", 401),
    ],
)
def test_each_route_accepts_the_tokens_for_its_resource_alone(site, keys, uri, path, status):
    answer = ask(site, path, token_for(site, keys, uri), status)
    if status == 401 and path.startswith("/mcp") and path not in ("/mcpx", "/mcp/page"):
        assert 'error="invalid_token"' in answer.headers["WWW-Authenticate"]


@pytest.mark.parametrize("path", ["/tree/../mcp", "/tree/x/..//../mcp/notes", "/tree/%2e%2e/mcp"])
def test_a_path_that_can_be_read_in_two_ways_opens_with_no_token(site, keys, path):
    for uri in (None, MCP):
        ask(site, path, token_for(site, keys, uri), 401)
    ask(site, "/mcp/below/../../files/one", token_for(site, keys, MCP), 401)
    ask(site, "/mcp/below//x/../y", token_for(site, keys, MCP))
    ask(site, "/tree/./x", token_for(site, keys, None))


def test_a_token_that_lacks_a_scope_is_told_which_and_where(site, keys):
    answer = ask(site, "/mcp/notes/write", token_for(site, keys, MCP), 403)
    challenge = answer.headers["WWW-Authenticate"]
    assert 'error="insufficient_scope", scope="notes:write"' in challenge
    assert "resource_metadata=" in challenge


def test_a_personal_access_token_is_for_no_resource(site, keys):
    token = site.login(keys)["access_token"]
    ask(site, "/mcp", created(site, token), 401)
    ask(site, "/mcpx", created(site, token))


def test_pages_of_the_resource_open_with_a_session(site):
    sign_in(site)
    ask(site, f"{ISSUER}/mcp/page")


@pytest.mark.parametrize(
    ("uri", "scopes", "said"),
    [
        ("mcp", "", "absolute"),
        ("https://app.example.org/mcp?x=1", "", "without a query"),
        ("urn:mcp:notes", "", "without a query"),
        ("https://app.example.org/mcp", ["notes:read"], "one text"),
        ("https://app.example.org/mcp#x", "", "fragment"),
    ],
)
def test_what_is_no_resource_stops_the_start(host_with, uri, scopes, said):
    with pytest.raises(ConfigurationError, match=said):
        host_with(lambda config: config.add_protected_resource(uri, scopes), base_url=ISSUER)


def test_two_resources_of_one_path_stop_the_start(host_with):
    def twice(config):
        config.add_protected_resource(MCP)
        config.add_protected_resource(f"{MCP}/")

    with pytest.raises(ConfigurationError, match="two protected resources"):
        host_with(twice, base_url=ISSUER)


def test_without_an_address_of_the_authorization_server_it_does_not_start(host_with):
    with pytest.raises(ConfigurationError, match="base-url"):
        host_with(lambda config: config.add_protected_resource(MCP), base_url="")


@pytest.mark.parametrize("kept", [True, False], ids=["SCRIPT_NAME", "stripped by the proxy"])
def test_the_path_of_base_url_is_part_of_the_resource(host_with, kept):
    uri = "https://app.example.org/app/mcp"

    def build(config):
        config.add_protected_resource(uri)
        config.add_route("mcp", "/mcp", guard="api", scope="notes:read")
        config.add_view(hello, route_name="mcp")

    site = host_with(build, base_url="https://app.example.org/app", scopes="notes:read: Read")
    site.user(confirmed=True)
    resource(site, uri, "notes:read")
    keys = site.client(scope="notes:read", default_scope="notes:read")
    site.http.extra_environ |= {"SCRIPT_NAME": "/app"} if kept else {}
    ask(site, "/mcp", token_for(site, keys, uri), 200)
    refused = ask(site, "/mcp", token_for(site, keys, None), 401)
    assert "/.well-known/oauth-protected-resource/app/mcp" in refused.headers["WWW-Authenticate"]


def test_a_resource_outside_the_path_of_base_url_stays_apart(host_with):
    """What is at the path itself counts first, whatever a proxy may have stripped."""
    outside, below = "https://app.example.org/mcp", "https://app.example.org/app/mcp"

    def build(config):
        config.add_protected_resource(outside)
        config.add_protected_resource(below)
        config.add_route("mcp", "/mcp", guard="api", scope="notes:read")
        config.add_view(hello, route_name="mcp")

    site = host_with(build, base_url="https://app.example.org/app", scopes="notes:read: Read")
    site.user(confirmed=True)
    for uri in (outside, below):
        resource(site, uri, "notes:read")
    keys = site.client(scope="notes:read", default_scope="notes:read")
    ask(site, "/mcp", token_for(site, keys, outside), 200)
    ask(site, "/mcp", token_for(site, keys, below), 401)


def test_a_scope_that_takes_a_stronger_sign_in_is_named_once_beside_the_level(host_with):
    """Where the resource has the scope; the token is for it alone."""
    scopes = "notes:read: Read\nnotes:write [groups]: Write"
    site = host_with(build, base_url=ISSUER, scopes=scopes)
    in_group(site, site.user(confirmed=True).id, scopes="notes:write", level="aal2")
    resource(site, MCP, "notes:read notes:write")
    keys = site.client(scope="notes:read notes:write", default_scope="notes:read")
    token = token_for(site, keys, MCP)
    challenge = ask(site, "/mcp/notes/write", token, 401).headers["WWW-Authenticate"]
    assert challenge == (
        'Bearer error="insufficient_user_authentication", acr_values="aal2", scope="notes:write", '
        'resource_metadata="https://app.example.org/.well-known/oauth-protected-resource/mcp"'
    )


def test_where_the_resource_has_not_got_the_scope_no_sign_in_helps(host_with):
    scopes = "notes:read: Read\nnotes:write [groups]: Write"
    site = host_with(build, base_url=ISSUER, scopes=scopes)
    in_group(site, site.user(confirmed=True).id, scopes="notes:write", level="aal2")
    resource(site, MCP, "notes:read")
    keys = site.client(scope="notes:read notes:write", default_scope="notes:read")
    ask(site, "/mcp/notes/write", token_for(site, keys, MCP), 403)
