"""Real relying parties: each in its own environment, with people who sign in by Chromium.

`make test-clients` runs these tests; `make test` does not.
"""

from pathlib import Path

import pytest

from tests.clients.environments import Environments
from tests.conftest import need
from tests.support import browsers, nginx
from tests.support.public_site import Place


def pytest_collection_modifyitems(items):
    """All of them start servers."""
    for item in items:
        item.add_marker("slow")


@pytest.fixture(scope="session")
def environment():
    """``environment("flask")``: the folder of programs with what a relying party needs."""
    return Environments().programs


@pytest.fixture(scope="session")
def node_environment():
    """``node_environment("authjs")``: the folder of programs for Node.js, with their packages."""
    return Environments().node


@pytest.fixture(scope="session")
def node(node_environment):
    """The folder of the programs of MCP for Node.js."""
    return node_environment("node")


@pytest.fixture(scope="package")
def place(tmp_path_factory):
    """authsite behind TLS at ``https://localhost``; relying parties are on another site.

    Clients may register themselves, and ``client.example`` may describe some.
    """
    need(nginx.available(), "nginx")
    settings = {
        "scopes": "\n  notes:read: Read notes\n  notes:write: Change notes",
        "client_registration": "open",
        "client_registration_scopes": "notes:read notes:write",
        "client_id_documents": "client.example",
    }
    made = Place(tmp_path_factory.mktemp("clients"), **settings)
    with made.running(PYTHONPATH=str(Path(__file__).parent / "names")) as place:
        yield place


@pytest.fixture(scope="package")
def playwright():
    """Playwright, which starts browsers."""
    with browsers.playwright() as running:
        yield running


@pytest.fixture(scope="package")
def chromium(place, playwright):
    """A browser that trusts the servers here."""
    with browsers.chromium(playwright, place.folder / "home", place.authority) as browser:
        yield browser


@pytest.fixture
def person(chromium, place):
    """A factory of people with an account, each with a separate browser."""
    with browsers.profiles(chromium, seconds=30) as new:
        yield lambda **options: place.person(new(), **options)
