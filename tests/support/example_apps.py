"""The applications in examples/ as processes, started as their README says, with an authsite."""

import os
import subprocess
import sys
import time
from contextlib import contextmanager

import httpx

from tests.support import databases
from tests.support.commands import CHECKOUT
from tests.support.servers import free_port, serving, stop, wait_for_port, write_ini
from tests.support.site import Site, bearer

EXAMPLES = CHECKOUT / "examples"
NAMES = ("django", "fastapi", "flask")
TIMEOUT = 60  # seconds that a test waits for a condition at most


class Stand:
    """authsite with Ann, and the clients of an application and of its callers."""

    def __init__(self, folder):
        self.folder = folder
        self.url = databases.migrated(databases.new_url("sqlite", folder, "examples"))
        self.site = Site(self.url)
        self.site.user(confirmed=True)
        # Registered by another person, who cannot read the mail.
        self.unconfirmed = self.site.user("ceo@corp.example")
        self.callers = self.site.client(scope="notes:read notes:write")
        self.partner = self.site.client("personal", scope="notes:read notes:write")
        self.resource_server = self.site.client("resource-server")
        self.app_ports = {name: free_port() for name in NAMES}
        web = {
            "clients.web.id": self.callers.client_id,
            "clients.web.secret": self.callers.client_secret,
        }
        origin = f"http://localhost:{self.app_ports['fastapi']}"
        self.ini = write_ini(folder, self.url, cors_origins=origin, **web)
        self.port = free_port()

    def authsite(self):
        return serving(self.ini, port=self.port)

    @contextmanager
    def app(self, name):
        """``python app.py`` in the folder of an example; yields an httpx client."""
        port, log = self.app_ports[name], self.folder / f"{name}.log"
        inherited = {key: value for key, value in os.environ.items() if "COVERAGE_" not in key}
        environ = {
            **inherited,
            "PYTHONPATH": str(CHECKOUT / "clients" / "python"),
            "AUTH_URL": f"http://127.0.0.1:{self.port}",
            "AUTH_CLIENT_ID": self.resource_server.client_id,
            "AUTH_CLIENT_SECRET": self.resource_server.client_secret,
            "PORT": str(port),
            "DATABASE": str(self.folder / "django.sqlite"),
        }
        with open(log, "wb") as output:
            process = subprocess.Popen(
                [sys.executable, "app.py"], cwd=EXAMPLES / name, env=environ,
                stdout=output, stderr=output,
            )  # fmt: skip
        # Each request has its own connection: the servers close idle ones, also at the moment of
        # use.
        limits = httpx.Limits(max_keepalive_connections=0)
        client = httpx.Client(base_url=f"http://127.0.0.1:{port}", timeout=30, limits=limits)
        try:
            wait_for_port(port, process)
            client.name = name
            yield client
        finally:
            client.close()
            stop(process)

    def token(self, scope="notes:read", **user):
        return self.site.login(self.callers, scope=scope, **user)["access_token"]


def notes(app, token, **request):
    """The response to GET /notes, or to POST with a body.

    On a busy machine authsite may take longer than the verifier waits, which is 503.
    """
    method = "POST" if request else "GET"
    return until(
        lambda: app.request(method, "/notes", headers=bearer(token), **request),
        lambda answer: answer.status_code != 503,
    )


def add_note(app, token):
    """The response to a new note."""
    return notes(app, token, **{"json" if app.name == "fastapi" else "data": {"text": "Tea"}})


def until(ask, accepted):
    """Ask again and again until the answer is ``accepted``."""
    deadline = time.monotonic() + TIMEOUT
    while not accepted(answer := ask()):
        assert time.monotonic() < deadline, answer.text
        time.sleep(0.05)
    return answer
