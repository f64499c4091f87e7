"""Debian's Chromium, driven by Playwright. Each test gets a browser context of its own."""

import shutil

import pytest

from tests.conftest import need

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
    ],
}


# Not for the whole session: Playwright's event loop would be in the way of later tests.
@pytest.fixture(scope="package")
def chromium():
    """A running browser."""
    need(shutil.which("chromium"), "Chromium")
    sync_api = pytest.importorskip("playwright.sync_api")
    with sync_api.sync_playwright() as playwright:
        browser = playwright.chromium.launch(**CHROMIUM)
        yield browser
        browser.close()


@pytest.fixture
def new_context(chromium):
    """A factory of empty browser profiles, which are closed after the test."""
    made = []

    def new(**options):
        made.append(chromium.new_context(**options))
        made[-1].set_default_timeout(10_000)
        return made[-1]

    yield new
    for context in made:
        context.close()
