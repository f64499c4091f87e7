"""Clients and servers of MCP with its SDKs for Python and TypeScript (docs/mcp-server.md).

A client knows nothing but the URL of a server. It becomes a client of authsite in each of the ways
that there are: it registers itself, its site describes it, or someone has registered it.
"""

import json
import subprocess
from contextlib import contextmanager
from pathlib import Path
from threading import Timer
from urllib.parse import parse_qs, urlsplit

import httpx
import pytest

from tests.support import guides
from tests.support.home import CHECKOUT
from tests.support.installed import clean_environ
from tests.support.real_provider import NODE
from tests.support.servers import free_port
from tests.support.tiny_server import tls_server

APPS = Path(__file__).parent / "apps"
SCOPES = "notes:read notes:write"
HOST = "client.example"
SECONDS = 60


class Server:
    """An MCP server, which is a resource of authsite."""

    def __init__(self, place, name, command):
        self.command, self.party = command, place.relying_party(name)
        self.url = f"{self.party.url}/mcp"
        made = place.command("client", "create", "--name", name, "--type", "resource-server")
        place.command("resource", "add", self.url, "--scope", SCOPES, "--client", made["client_id"])
        self.variables = {
            "AUTH_URL": place.issuer,
            "AUTH_CLIENT_ID": made["client_id"],
            "AUTH_CLIENT_SECRET": made["client_secret"],
            "MCP_URL": self.url,
            "PORT": str(self.party.port),
            "PYTHONPATH": f"{CHECKOUT / 'clients/python'}:{self.party.folder}",
        }

    @classmethod
    def of_guide(cls, place, environment, name, folder=None):
        """A block of docs/mcp-server.md, in a folder that is named as it."""
        made = cls(place, folder or name, [environment("mcp") / "uvicorn", f"{name}:app"])
        made.command += ["--log-level", "warning", "--port", made.party.port]
        [block] = [each for each in guides.blocks("mcp-server") if each.title == f"{name}.py"]
        made.file = made.party.folder / f"{name}.py"
        made.file.write_text(block.text)
        return made

    def running(self):
        return self.party.running(self.command, **self.variables)

    def refuses(self, token):
        """Whether it refuses a token with a challenge that names its metadata."""
        headers = {"Authorization": f"Bearer {token}", "Accept": "application/json"}
        answer = httpx.post(self.url, headers=headers, json={})
        challenge = answer.headers.get("WWW-Authenticate", "")
        metadata = f"{self.party.url}/.well-known/oauth-protected-resource/mcp"
        return answer.status_code == 401 and f'resource_metadata="{metadata}"' in challenge


@contextmanager
def opening(place, command, person, **options):
    """The lines of JSON of a program; the person follows each URL that it wants to be opened."""
    trust = dict.fromkeys(("SSL_CERT_FILE", "NODE_EXTRA_CA_CERTS"), str(place.authority.path))
    log = place.folder / "mcp-client.log"
    with open(log, "wb") as output:
        process = subprocess.Popen(
            list(map(str, command)), env=clean_environ(**trust), text=True,
            stdout=subprocess.PIPE, stderr=output, **options,
        )  # fmt: skip
    timer = Timer(SECONDS, process.kill)
    timer.start()
    try:
        yield process.stdout
        assert process.wait(SECONDS) == 0, log.read_text()[-3000:]
    finally:
        timer.cancel()
        process.kill()
        process.wait()


class Walk:
    """A client with its store, and the person who uses it."""

    def __init__(self, place, program, person, folder):
        self.place, self.program, self.person = place, program, person
        self.given = {"port": free_port(), "store": str(folder / "store.json")}
        self.seen = []

    def uses(self, server, **given):
        """What the client found at the server; ``seen`` has the pages of consent on the way."""
        given = {"server": server.url, "issuer": self.place.issuer, **self.given, **given}
        found = None
        with opening(self.place, [*self.program, json.dumps(given)], self.person) as lines:
            for line in lines:
                found = json.loads(line)
                if "open" in found:
                    self.allows(found["open"])
        return found

    def allows(self, url):
        self.person.page.goto(url)
        if "/login" in self.person.page.url:
            self.person.sign_in()
        self.person.page.locator("button[name=decision][value=allow]").first.wait_for()
        self.seen.append(self.person.text())
        self.person.allow()
        self.person.at(f"http://127.0.0.1:{self.given['port']}/callback")


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
    answer = place.http.get("/v1/user", headers={"Authorization": f"Bearer {token}"})
    assert answer.status_code in (401, 403)


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
    made = place.client("http://127.0.0.1/callback", type="native", scope=SCOPES)
    given = {"described": {"document": document}, "registered": {"client_id": made["client_id"]}}
    ann = person()
    walk = Walk(place, typescript, ann, tmp_path)
    server = express if way != "described" else guarded
    token = checked(walk.uses(server, **given.get(way, {})), server, ann)
    assert (guarded if server is express else express).refuses(token)


def test_the_conformance_suite(place, node, person, tmp_path):
    """Every check of `conformance authorization`; docs/conformance.md has its result."""
    port, ann = free_port(), person()
    made = place.client(f"http://127.0.0.1:{port}/callback", type="native", scope=SCOPES)
    suite = node / "node_modules/@modelcontextprotocol/conformance/dist/index.js"
    command = [
        NODE, "--import", node / "old-node.mjs", suite, "authorization", "--url", place.issuer,
        "--client-id", made["client_id"], "--port", port, "--output-dir", tmp_path,
    ]  # fmt: skip
    with opening(place, command, ann) as lines:
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
