"""Chromium: each test gets a separate browser context."""

import pytest

from tests.support import browsers
from tests.system.browser.web import OTHER_ORIGIN, Tabs, web_server


@pytest.fixture(scope="package")
def chromium(playwright):
    """A running browser."""
    with browsers.chromium(playwright) as browser:
        yield browser


@pytest.fixture
def new_context(chromium):
    """A factory of empty browser profiles, which are closed after the test."""
    with browsers.profiles(chromium) as new:
        yield new


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
