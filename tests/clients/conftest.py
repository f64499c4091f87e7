"""Real relying parties: each in its own environment, with people who sign in by Chromium.

`make test-clients` runs these tests; `make test` does not.
"""

import os
import shutil

import pytest

from tests.clients.environments import Environments
from tests.conftest import need
from tests.support import nginx
from tests.support.public_site import Place
from tests.support.world import browser_home
from tests.system.browser.conftest import CHROMIUM, HEADLESS_SHELL


def pytest_collection_modifyitems(items):
    """All of them start servers."""
    for item in items:
        item.add_marker("slow")


@pytest.fixture(scope="session")
def environment():
    """``environment("flask")``: the folder of programs with what a relying party needs."""
    return Environments().programs


@pytest.fixture(scope="package")
def place(tmp_path_factory):
    """authsite behind TLS at ``https://localhost``; relying parties are on another site."""
    need(nginx.available(), "nginx")
    need(shutil.which("certutil"), "certutil (libnss3-tools)")
    with Place(tmp_path_factory.mktemp("clients")).running() as place:
        yield place


@pytest.fixture(scope="package")
def playwright():
    """Playwright, which starts browsers."""
    sync_api = pytest.importorskip("playwright.sync_api")
    with sync_api.sync_playwright() as playwright:
        yield playwright


@pytest.fixture(scope="package")
def chromium(place, playwright):
    """A browser that trusts the servers here."""
    program = HEADLESS_SHELL or CHROMIUM["executable_path"]
    need(shutil.which(program), "Chromium")
    browser = playwright.chromium.launch(
        executable_path=program,
        args=CHROMIUM["args"],
        env={**os.environ, "HOME": str(browser_home(place.folder / "home", place.authority))},
    )
    yield browser
    browser.close()


@pytest.fixture
def person(chromium, place):
    """A factory of people with an account, each with a separate browser."""
    made = []

    def new(**options):
        made.append(chromium.new_context(reduced_motion="reduce"))
        made[-1].set_default_timeout(30_000)
        return place.person(made[-1], **options)

    yield new
    for context in made:
        context.close()
