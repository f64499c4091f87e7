"""A running authsite behind TLS, a relying party, and people who have signed in or not."""

import itertools

import pytest

from tests.conformance.suite import Browser, Suite, landing
from tests.conftest import need
from tests.support import browsers, nginx
from tests.support.public_site import Place

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
    with browsers.playwright() as running:
        yield running


@pytest.fixture(scope="module")
def chromium(place, playwright):
    with browsers.chromium(playwright, place.folder / "home", place.authority) as browser:
        yield browser


@pytest.fixture
def new_browser(chromium, place, suite):
    """A factory of people who have not signed in; ``user`` is one that is there already."""
    with browsers.profiles(chromium, seconds=30) as new:
        yield lambda **options: Browser(place.person(new(**options), **facts()), suite.server)


@pytest.fixture(scope="module")
def ann(chromium, place, suite):
    """A person who has signed in and allowed everything; each module that changes this is new."""
    with browsers.profiles(chromium, seconds=30) as new:
        browser = Browser(place.person(new(), **facts()), suite.server)
        suite.sign_in(browser, scope="openid profile email phone offline_access")
        yield browser
