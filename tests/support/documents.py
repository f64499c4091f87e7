"""A site on the internet that describes an application: a TLS server whose name is public.

with described(monkeypatch, folder) as there:
    app = there.application          # its client_id is the URL of the document
    there.document["client_name"] = "Notes"
"""

import json
from contextlib import contextmanager

from tests.support.authorizing import Application
from tests.support.certificates import Authority
from tests.support.outbound import PUBLIC, own_resolver
from tests.support.tiny_server import tls_server

HOST = "client.example"
CALLBACK = "https://client.example/callback"
PATH = "/oauth/client.json"


class Described:
    """``document``, ``headers``, ``status``: what the server answers; ``raw``: another body."""

    def __init__(self, server, resolves):
        self.server, self.resolves = server, resolves
        self.url = f"https://{HOST}:{server.port}{PATH}"
        self.document = {
            "client_id": self.url,
            "client_name": "Notes",
            "redirect_uris": [CALLBACK, "http://localhost/callback", "http://127.0.0.1/callback"],
            "token_endpoint_auth_method": "none",
        }
        self.headers = {"Content-Type": "application/json"}
        self.status, self.raw = 200, None

    @property
    def fetched(self):
        """How often the document was fetched."""
        return len(self.server.requests)

    @property
    def application(self):
        return Application(self.url, None, self.document["redirect_uris"][0], "Notes")

    def answer(self, _request):
        body = json.dumps(self.document).encode() if self.raw is None else self.raw
        return self.status, self.headers, body


@contextmanager
def described(monkeypatch, folder):
    """The server, at a host whose name leads to a public address."""
    authority, resolves = Authority(folder), own_resolver(monkeypatch)
    monkeypatch.setenv("SSL_CERT_FILE", str(authority.path))
    resolves[HOST], resolves[PUBLIC] = [PUBLIC], ["127.0.0.1"]
    there = None
    with tls_server(authority.sign(HOST), lambda request: there.answer(request)) as server:
        there = Described(server, resolves)
        yield there
