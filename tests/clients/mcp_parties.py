"""Servers of MCP that authsite protects, and their clients with the person who uses one."""

import json
import subprocess
import sys
from contextlib import contextmanager
from pathlib import Path
from threading import Timer
from types import SimpleNamespace

import httpx

from tests.support import databases, guides
from tests.support.applications import resource
from tests.support.home import CHECKOUT
from tests.support.installed import clean_environ
from tests.support.servers import free_port
from tests.support.site import SECRET, Site, bearer

APPS = Path(__file__).parent / "apps"
SCOPES = "notes:read notes:write"
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
        answer = httpx.post(self.url, headers=bearer(token), json={})
        challenge = answer.headers.get("WWW-Authenticate", "")
        metadata = f"{self.party.url}/.well-known/oauth-protected-resource/mcp"
        return answer.status_code == 401 and f'resource_metadata="{metadata}"' in challenge


@contextmanager
def opening(place, command):
    """The lines that a program prints; it has to end well."""
    trust = dict.fromkeys(("SSL_CERT_FILE", "NODE_EXTRA_CA_CERTS"), str(place.authority.path))
    log = place.folder / "mcp-client.log"
    with open(log, "wb") as output:
        process = subprocess.Popen(
            list(map(str, command)), env=clean_environ(**trust), text=True,
            stdout=subprocess.PIPE, stderr=output,
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
        with opening(self.place, [*self.program, json.dumps(given)]) as lines:
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


class Host:
    """The application in Pyramid of the guide, with authsite in it: a place and a server in one."""

    def __init__(self, place):
        self.authority, self.folder = place.authority, place.folder
        self.party = place.relying_party("pyramid")
        self.issuer, self.url = self.party.url, f"{self.party.url}/mcp"
        database = databases.migrated(databases.new_url("sqlite", self.party.folder, "host"))
        self.site = Site(database, base_url=self.issuer)
        self.settings = {
            "authsite.secret": SECRET,
            "authsite.database-url": database,
            "authsite.base-url": self.issuer,
            "authsite.openid": "on",
            "authsite.scopes": "notes:read: Read notes\nnotes:write: Change notes",
            "authsite.client-registration": "open",
            "authsite.client-registration-scopes": SCOPES,
        }

    @contextmanager
    def running(self):
        [block] = [each for each in guides.blocks("mcp-server") if "pyramid" in str(each.title)]
        (self.party.folder / block.title).write_text(block.text)
        app = [sys.executable, APPS / "mcp_host.py", self.party.port, json.dumps(self.settings)]
        with self.party.running(app, PYTHONPATH=str(self.party.folder)) as log:
            self.http = SimpleNamespace(log=log)
            resource(self.site, self.url, SCOPES)
            yield self
        self.site.database.dispose()
