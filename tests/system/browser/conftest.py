"""Debian's Chromium, driven by Playwright. Each test gets a separate browser context."""

import shutil

import pytest

from tests.conftest import need
from tests.system.browser.web import OTHER_ORIGIN, Tabs, web_server

CHROMIUM = {
    "executable_path": "/usr/bin/chromium",
    "args": [
        "--no-sandbox",
        "--disable-gpu",
        "--disable-quic",
        "--no-first-run",
        "--disable-background-networking",
        "--disable-component-update",
        "--disable-sync",
        # Other sites than the one under test, on this machine.
        "--host-resolver-rules=MAP *.example.test 127.0.0.1",
    ],
}

# The same engine without a window's parts, for a third of the processor time. The whole browser is
# used for the journey behind TLS (tests/system/test_journey.py), forward auth and the guides.
HEADLESS_SHELL = shutil.which("chromium-headless-shell")


@pytest.fixture(scope="package")
def chromium(playwright):
    """A running browser."""
    need(HEADLESS_SHELL or shutil.which("chromium"), "Chromium")
    path = HEADLESS_SHELL or CHROMIUM["executable_path"]
    browser = playwright.chromium.launch(**{**CHROMIUM, "executable_path": path})
    yield browser
    browser.close()


@pytest.fixture
def new_context(chromium):
    """A factory of empty browser profiles, which are closed after the test."""
    made = []

    def new(**options):
        # Without the transitions between pages, during which nothing can be clicked.
        made.append(chromium.new_context(**{"reduced_motion": "reduce", **options}))
        made[-1].set_default_timeout(60_000)
        return made[-1]

    yield new
    for context in made:
        context.close()


@pytest.fixture(scope="package")
def strict(tmp_path_factory):
    """``(origin, site)``: tokens for an hour and no grace, a refresh too many ends the session."""
    folder = tmp_path_factory.mktemp("strict")
    with web_server(
        folder, expires_in="60m", refresh_grace="0s", cors_origins=OTHER_ORIGIN
    ) as served:
        yield served


@pytest.fixture(scope="package")
def graced(tmp_path_factory):
    """``(origin, site)``: tokens for an hour, and the usual grace."""
    with web_server(tmp_path_factory.mktemp("graced"), expires_in="60m") as served:
        yield served


@pytest.fixture
def tabs(new_context, strict):
    """A browser at `strict`."""
    return Tabs(new_context(), strict[0])


@pytest.fixture
def graced_tabs(new_context, graced):
    """A browser at `graced`."""
    return Tabs(new_context(), graced[0])
