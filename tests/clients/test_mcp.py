"""Clients and servers of MCP with its SDKs for Python and TypeScript (docs/mcp-server.md).

A client knows nothing but the URL of a server. It becomes a client of authsite in each of the ways
that there are: it registers itself, its site describes it, or someone has registered it.
"""

import json
from urllib.parse import parse_qs, urlsplit

import httpx
import pytest

from tests.clients.mcp_parties import APPS, SCOPES, Host, Server, Walk, opening
from tests.support.public_site import Person
from tests.support.real_provider import NODE
from tests.support.servers import free_port
from tests.support.site import bearer
from tests.support.tiny_server import tls_server

HOST = "client.example"


def query(url):
    return {name: value for name, [value] in parse_qs(urlsplit(url).query).items()}


@pytest.fixture(scope="module")
def python(environment):
    return [environment("mcp") / "python", APPS / "mcp_client.py"]


@pytest.fixture(scope="module")
def typescript(node):
    return [NODE, node / "mcp-client.mjs"]


@pytest.fixture(scope="module")
def guarded(place, environment):
    """With `AsgiMiddleware`."""
    server = Server.of_guide(place, environment, "notes")
    with server.running():
        yield server


@pytest.fixture(scope="module")
def with_sdk(place, environment):
    """With the settings of the SDK for Python."""
    server = Server.of_guide(place, environment, "notes_sdk")
    with server.running():
        yield server


@pytest.fixture(scope="module")
def express(place, node):
    """With the SDK for TypeScript."""
    server = Server(place, "express", [NODE, node / "mcp-server.mjs"])
    with server.running():
        yield server


@pytest.fixture(scope="module")
def document(place):
    """The URL of the document that describes a client, at a host that is public to authsite."""
    with tls_server(place.authority.sign(HOST), lambda _: (200, headers, about)) as server:
        url = f"https://{HOST}:{server.port}/client.json"
        headers = {"Content-Type": "application/json"}
        about = {
            "client_id": url,
            "client_name": "Described client",
            "redirect_uris": ["http://127.0.0.1/callback"],
            "grant_types": ["authorization_code", "refresh_token", "urn:example:unknown"],
            "token_endpoint_auth_methods_supported": ["private_key_jwt", "none"],
        }
        yield url


def checked(found, server, ann):
    """What holds for each client: the user, a refresh, and tokens for this server alone."""
    assert found["first"] == found["second"] == ann.id
    first, second = found["tokens"]
    assert first["access_token"] != second["access_token"]
    assert first["refresh_token"] != second["refresh_token"]
    assert len(found["opened"]) == 1
    asked = query(found["opened"][0])
    assert (asked["resource"], asked["code_challenge_method"]) == (server.url, "S256")
    return second["access_token"]


def test_a_client_registers_itself(place, guarded, with_sdk, express, python, person, tmp_path):
    ann = person()
    walk = Walk(place, python, ann, tmp_path)
    token = checked(found := walk.uses(guarded), guarded, ann)
    assert place.command("client", "show", found["client"]["client_id"])["type"] == "dynamic"
    assert "Python client" in walk.seen[0]
    assert "not verified by" in walk.seen[0]
    for other in (with_sdk, express):
        assert other.refuses(token)
    assert place.http.get("/v1/user", headers=bearer(token)).status_code == 401


def test_a_token_for_no_resource_opens_none(place, guarded, with_sdk, express):
    place.site.user("bob@example.com", confirmed=True)
    keys = place.site.client(scope=SCOPES, default_scope=SCOPES)
    token = place.site.login(keys, "bob@example.com")["access_token"]
    for server in (guarded, with_sdk, express):
        assert server.refuses(token)


def test_the_server_is_a_part_of_authsite(place, guarded, python, person, tmp_path):
    with Host(place).running() as host:
        ann = Person(person().page.context, host, host.site.user(confirmed=True))
        token = checked(Walk(host, python, ann, tmp_path).uses(host), host, ann)
        assert httpx.get(f"{host.issuer}/v1/user", headers=bearer(token)).status_code == 401
        assert guarded.refuses(token)


def test_a_server_whose_url_has_no_path(place, environment, python, typescript, person, tmp_path):
    """Libraries add a slash to such a resource, and authsite takes both."""
    ann, server = person(), Server.of_guide(place, environment, "notes", "at-the-top", path="")
    options = 'stateless_http=True, streamable_http_path="/"'
    server.file.write_text(server.file.read_text().replace("stateless_http=True", options))
    with server.running():
        for name, program in (("python", python), ("typescript", typescript)):
            (tmp_path / name).mkdir()
            found = Walk(place, program, ann, tmp_path / name).uses(server)
            assert found["first"] == found["second"] == ann.id
            assert query(found["opened"][0])["resource"].removesuffix("/") == server.url


def test_its_site_describes_a_client(place, with_sdk, guarded, python, person, document, tmp_path):
    ann = person()
    walk = Walk(place, python, ann, tmp_path)
    token = checked(found := walk.uses(with_sdk, document=document), with_sdk, ann)
    assert found["client"]["client_id"] == document
    assert HOST in walk.seen[0]
    assert guarded.refuses(token)


def test_someone_has_registered_a_client(place, with_sdk, python, person, tmp_path):
    made = place.client("http://127.0.0.1/callback", type="native", scope=SCOPES)
    ann = person()
    walk = Walk(place, python, ann, tmp_path)
    checked(walk.uses(with_sdk, client_id=made["client_id"]), with_sdk, ann)
    assert "not verified" not in walk.seen[0]


def test_a_server_that_needs_more_gets_it(place, environment, python, person, tmp_path):
    """Step-up: 403 `insufficient_scope`, and the client asks for what it had and what it lacks."""
    ann, server = person(), Server.of_guide(place, environment, "notes", "needs-more")
    walk = Walk(place, python, ann, tmp_path)
    with server.running():
        found = walk.uses(server)
    assert "notes:write" not in query(found["opened"][0])["scope"].split()
    server.file.write_text(server.file.read_text().replace('"notes:read",', '"notes:write",'))
    with server.running():
        found = walk.uses(server)
    assert found["first"] == ann.id
    assert {"notes:read", "notes:write"} <= set(query(found["opened"][0])["scope"].split())
    assert {"notes:read", "notes:write"} <= set(found["tokens"][-1]["scope"].split())


@pytest.mark.parametrize("way", ["registers", "described", "registered"])
def test_typescript(place, express, guarded, typescript, person, document, tmp_path, way):
    given = {"registers": {}, "described": {"document": document}}
    if way == "registered":
        made = place.client("http://127.0.0.1/callback", type="native", scope=SCOPES)
        given[way] = {"client_id": made["client_id"]}
    ann = person()
    walk = Walk(place, typescript, ann, tmp_path)
    server = express if way != "described" else guarded
    token = checked(walk.uses(server, **given[way]), server, ann)
    assert (guarded if server is express else express).refuses(token)


def test_the_conformance_suite(place, node, person, tmp_path):
    """Every check of `conformance authorization`; docs/mcp-server.md has the results."""
    port, ann = free_port(), person()
    made = place.client(f"http://127.0.0.1:{port}/callback", type="native", scope=SCOPES)
    suite = node / "node_modules/@modelcontextprotocol/conformance/dist/index.js"
    command = [
        NODE, "--import", node / "old-node.mjs", suite, "authorization", "--url", place.issuer,
        "--client-id", made["client_id"], "--port", port, "--output-dir", tmp_path,
    ]  # fmt: skip
    with opening(place, command) as lines:
        for line in lines:
            if line.startswith(f"{place.issuer}/oauth/authorize?"):
                ann.enter(line.strip(), f"http://127.0.0.1:{port}/callback")
    checks = [
        (each["id"], each["status"])
        for path in sorted(tmp_path.rglob("checks.json"))
        for each in json.loads(path.read_text())
    ]
    assert sorted(checks) == [
        ("authorization-code-grant", "SUCCESS"),
        ("authorization-server-metadata", "SUCCESS"),
        ("authorization-server-metadata-cimd", "SUCCESS"),
    ]
