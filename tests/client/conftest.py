"""An introspection endpoint in this process, and the time."""

import pytest

from authsite_client import Service, Verifier, clock
from tests.support.tiny_server import TIMEOUT, tiny_server

CLIENT = ("the-id", "the-secret")
CLAIMS = {
    "active": True,
    "sub": "6f9619ff-8b86-4d01-b42d-00cf4fc964ff",
    "username": "ann@example.com",
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
