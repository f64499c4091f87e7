"""Two services behind TLS, and a browser that trusts both."""

import pytest

from tests.conftest import need
from tests.support import browsers, nginx
from tests.support.peers import Peers


@pytest.fixture(scope="package")
def peers(tmp_path_factory):
    need(nginx.available(), "nginx")
    with Peers(tmp_path_factory.mktemp("peers")).running() as running:
        yield running


@pytest.fixture(scope="package")
def chromium(peers, playwright):
    """A browser that trusts the servers, and finds them by their names."""
    home = peers.folder / "home"
    with browsers.chromium(playwright, home, peers.authority, front=peers.front) as browser:
        yield browser
