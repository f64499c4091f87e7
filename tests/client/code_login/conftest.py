"""A server whose answers a test decides, and logins at it."""

import pytest

from authsite_client import CodeLogin, Service
from tests.client.conftest import CLIENT
from tests.client.signing import CALLBACK, fake_server
from tests.support.tiny_server import TIMEOUT


@pytest.fixture
def fake():
    fake, running = fake_server()
    with running as server:
        fake.url = server.url
        fake.server = server
        yield fake


@pytest.fixture
def login_of(fake):
    """A factory of logins that are closed at the end."""
    made = []

    def new(kind=CodeLogin, **options):
        made.append(kind(Service(fake.url, TIMEOUT), *CLIENT, CALLBACK, **options))
        return made[-1]

    yield new
    for each in made:
        each.close()
