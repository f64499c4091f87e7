"""An introspection endpoint or a whole authsite in this process, and the time."""

import pytest
from webtest.http import StopableWSGIServer

from authsite_client import Client, Service, Verifier, clock
from authsite_client import client as client_module
from tests.support.servers import free_port
from tests.support.tiny_server import TIMEOUT, tiny_server

CLIENT = ("the-id", "the-secret")
CLAIMS = {
    "active": True,
    "sub": "6f9619ff-8b86-4d01-b42d-00cf4fc964ff",
    "username": "ann@example.com",
    "email": "ann@example.com",
    "email_verified": True,
    "scope": "notes:read notes:write",
    "client_id": "0e37df36-f698-4e8b-9be0-6d2b9a0c1f11",
    "token_type": "Bearer",
    "owner": "user",
    "exp": 4_000_000_000,
    "iat": 1_900_000_000,
}


def active(request, **claims):
    """Every token is active, but for those that begin with ``dead``."""
    if request.form["token"].startswith("dead"):
        return 200, {}, {"active": False}
    return 200, {}, {**CLAIMS, **claims}


# What authsite says about a user who has registered with an address, and has not confirmed it.
UNCONFIRMED = {**CLAIMS, "email": "ceo@corp.example", "email_verified": False}
del UNCONFIRMED["username"]
OF_CLIENT = {"active": True, "token_type": "Bearer", "owner": "client", "sub": "c"}


def by_token(request):
    """`active`, and other callers for ``at_unconfirmed`` and ``at_client``."""
    claims = {"at_unconfirmed": UNCONFIRMED, "at_client": OF_CLIENT}.get(request.form["token"])
    return (200, {}, claims) if claims else active(request)


class FrozenTime:
    """Stands still until the test moves it."""

    def __init__(self):
        self.seconds = 1_900_000_000.0

    def now(self):
        return self.seconds

    def advance(self, seconds):
        self.seconds += seconds


@pytest.fixture
def frozen_time(monkeypatch):
    """The time of authsite-client."""
    made = FrozenTime()
    monkeypatch.setattr(clock, "time", made.now)
    monkeypatch.setattr(clock, "monotonic", made.now)
    return made


@pytest.fixture
def server():
    """Introspection that `active` answers; a test may set ``server.respond``."""
    with tiny_server(active) as running:
        yield running


@pytest.fixture
def verifier_of():
    """A factory of verifiers that are closed at the end."""
    made = []

    def new(service, **options):
        # A busy machine may take longer than the three seconds of the default.
        service = Service.of(service, TIMEOUT)
        made.append(Verifier(service, *CLIENT, **options))
        return made[-1]

    yield new
    for each in made:
        each.close()


@pytest.fixture
def verifier(server, verifier_of):
    """A verifier of ``server`` with its defaults."""
    return verifier_of(server.url)


@pytest.fixture
def live(site_with):
    """A factory of sites with Ann that listen at ``.service``, with a password client."""
    running = []

    def new(**settings):
        site = site_with(**settings)
        site.user()
        site.keys = site.client(scope="notes:read notes:write")
        server = StopableWSGIServer.create(site.app, host="127.0.0.1", port=free_port(), threads=8)
        running.append(server)
        assert server.wait()
        # A busy machine may take longer than the defaults.
        site.service = Service(f"http://127.0.0.1:{server.effective_port}", timeout=TIMEOUT)
        return site

    yield new
    for server in running:
        server.shutdown()


@pytest.fixture
def client_of(monkeypatch):
    """A factory of clients that are closed at the end."""
    monkeypatch.setattr(client_module, "REFRESH_TIMEOUT", TIMEOUT)
    made = []

    def new(site, keys=None):
        keys = keys or site.keys
        made.append(Client(site.service, keys.client_id, keys.client_secret))
        return made[-1]

    yield new
    for each in made:
        each.close()


@pytest.fixture
def ahead(monkeypatch):
    """``ahead(seconds)``: the client's clock from now on, so that tokens are old for it alone."""
    real = clock.time
    return lambda seconds: monkeypatch.setattr(clock, "time", lambda: real() + seconds)
