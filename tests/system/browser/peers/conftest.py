"""Two services behind TLS, and a browser that trusts both."""

import shutil

import pytest

from tests.conftest import need
from tests.support import nginx
from tests.support.peers import Peers, environment
from tests.support.world import browser_home, chromium_flags
from tests.system.browser.conftest import CHROMIUM, HEADLESS_SHELL


@pytest.fixture(scope="package")
def peers(tmp_path_factory):
    need(nginx.available(), "nginx")
    need(shutil.which("certutil"), "certutil (libnss3-tools)")
    with Peers(tmp_path_factory.mktemp("peers")).running() as running:
        yield running


@pytest.fixture(scope="package")
def chromium(peers, playwright):
    """A browser that trusts the servers, and finds them by their names."""
    program = HEADLESS_SHELL or CHROMIUM["executable_path"]
    need(shutil.which(program), "Chromium")
    browser = playwright.chromium.launch(
        executable_path=program,
        args=[*CHROMIUM["args"], *chromium_flags(peers.front)],
        env=environment(browser_home(peers.folder / "home", peers.authority)),
    )
    yield browser
    browser.close()
