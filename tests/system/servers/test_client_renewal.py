"""A service that calls another one is back with its next call after its tokens were revoked."""

import threading
from contextlib import contextmanager
from wsgiref.simple_server import WSGIRequestHandler, make_server

import httpx
import pytest
import requests

from authsite_client import Client, Service, Verifier, WsgiMiddleware
from authsite_client.httpx_auth import HttpxAuth
from authsite_client.requests_auth import RequestsAuth
from tests.support import databases
from tests.support.servers import authsite, serving, write_ini
from tests.support.site import Site, bearer
from tests.support.tiny_server import TIMEOUT

pytestmark = pytest.mark.slow


class Silent(WSGIRequestHandler):
    def log_message(self, *_):
        """Say nothing."""


def notes(environ, start_response):
    start_response("200 OK", [("Content-Type", "text/plain")])
    return [b"notes"]


@contextmanager
def called_service(verifier):
    """The service that is called: clients pass, and each token is introspected."""
    app = WsgiMiddleware(notes, verifier, caller="client")
    with make_server("127.0.0.1", 0, app, handler_class=Silent) as server:
        thread = threading.Thread(target=server.serve_forever, args=(0.01,))
        thread.start()
        yield f"http://127.0.0.1:{server.server_port}"
        server.shutdown()
        thread.join(TIMEOUT)


@pytest.mark.parametrize("backend", ["sqlite"], indirect=True)
def test_a_service_is_back_with_its_next_call(fresh_url, tmp_path):
    site = Site(databases.migrated(fresh_url))
    caller, resource_server = site.client("personal"), site.client("resource-server")
    site.database.dispose()
    ini = write_ini(tmp_path, fresh_url)

    def after_restore():
        assert authsite("db", "after-restore", ini=ini).returncode == 0

    def disable_and_enable():
        for command in ("disable", "enable"):
            assert authsite("client", command, caller.client_id, ini=ini).returncode == 0

    with serving(ini) as running:
        service = Service(str(running.base_url).rstrip("/"), timeout=TIMEOUT)
        verifier = Verifier(
            service, resource_server.client_id, resource_server.client_secret, cache=0
        )
        client = Client(service, caller.client_id, caller.client_secret)
        session = client.login_as_client()
        with called_service(verifier) as url, requests.Session() as plain:
            plain.auth = RequestsAuth(session)
            modern = httpx.Client(auth=HttpxAuth(session), timeout=TIMEOUT)
            assert plain.get(url, timeout=TIMEOUT).status_code == 200
            for revoke in (after_restore, disable_and_enable):
                for get in (plain.get, modern.get):
                    dead = session.access_token()
                    revoke()
                    assert httpx.get(url, headers=bearer(dead)).status_code == 401
                    assert get(url, timeout=TIMEOUT).status_code == 200
            modern.close()
        verifier.close()
        client.close()
