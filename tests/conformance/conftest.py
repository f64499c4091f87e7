"""A running authsite behind TLS, a relying party, and people who have signed in or not."""

import itertools
import os
import shutil

import pytest

from tests.conformance.suite import Browser, Suite, landing
from tests.conftest import need
from tests.support import nginx
from tests.support.public_site import Place
from tests.support.world import browser_home
from tests.system.browser.conftest import CHROMIUM, HEADLESS_SHELL

NUMBERS = itertools.count(1_000_000)


def facts():
    """What a new user tells about themself, so that each scope has something to show."""
    return {"phone": f"+49301{next(NUMBERS)}", "name": "Ann Example"}


def pytest_collection_modifyitems(items):
    """They start servers and a browser; they belong together in one process."""
    for item in items:
        if item.path.parent.name == "conformance":
            item.add_marker("slow")


@pytest.fixture(scope="module")
def place(tmp_path_factory):
    need(nginx.available(), "nginx")
    need(shutil.which("certutil"), "certutil (libnss3-tools)")
    folder = tmp_path_factory.mktemp("conformance")
    with Place(folder, login_identifiers="email phone").running() as place:
        yield place


@pytest.fixture(scope="module")
def suite(place):
    with landing(place.authority) as server:
        made = Suite(place, server)
        yield made
        made.http.close()


@pytest.fixture(scope="package")
def playwright():
    """Playwright, which starts browsers."""
    sync_api = pytest.importorskip("playwright.sync_api")
    with sync_api.sync_playwright() as playwright:
        yield playwright


@pytest.fixture(scope="module")
def chromium(place, playwright):
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
def new_browser(chromium, place, suite):
    """A factory of people who have not signed in; ``user`` is one that is there already."""
    made = []

    def new(**options):
        made.append(chromium.new_context(reduced_motion="reduce", **options))
        made[-1].set_default_timeout(30_000)
        return Browser(place.person(made[-1], **facts()), suite.server)

    yield new
    for context in made:
        context.close()


@pytest.fixture(scope="module")
def ann(chromium, place, suite):
    """A person who has signed in and allowed everything; each module that changes this is new."""
    context = chromium.new_context(reduced_motion="reduce")
    context.set_default_timeout(30_000)
    browser = Browser(place.person(context, **facts()), suite.server)
    suite.sign_in(browser, scope="openid profile email phone offline_access")
    yield browser
    context.close()
