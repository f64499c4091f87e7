"""The world of `tests.support.world`, Chromium in it, and what must not happen anywhere."""

import os
import shutil
from contextlib import ExitStack

import pytest

from tests.conftest import need
from tests.support import nginx
from tests.support.visitor import Mailbox, Visitor
from tests.support.world import AUTH, World
from tests.system.browser.conftest import CHROMIUM, HEADLESS_SHELL


# For the whole process: going through the tests of other folders in between must not stop it.
@pytest.fixture(scope="session")
def world(tmp_path_factory):
    """Servers that all tests of this process share."""
    need(nginx.available(), "nginx")
    with ExitStack() as stack:
        # The folder is for nginx's own user to read, too.
        folder = tmp_path_factory.mktemp("world")
        yield World(folder, stack)


# One for this folder and those below it: a process has room for one Playwright at a time. Not for
# the whole session: its event loop would be in the way of later tests.
@pytest.fixture(scope="package")
def playwright():
    """Playwright, which starts browsers."""
    sync_api = pytest.importorskip("playwright.sync_api")
    with sync_api.sync_playwright() as playwright:
        yield playwright


@pytest.fixture(scope="module")
def program():
    """The browser's program; that of the journey is the whole Chromium."""
    return HEADLESS_SHELL or CHROMIUM["executable_path"]


@pytest.fixture(scope="module")
def chromium(world, playwright, program):
    """A browser that trusts the authority of the tests and finds the servers by their names."""
    need(shutil.which(program), "Chromium")
    need(shutil.which("certutil"), "certutil (libnss3-tools)")
    browser = playwright.chromium.launch(
        executable_path=program,
        args=[*CHROMIUM["args"], *world.chromium_flags()],
        env={**os.environ, "HOME": str(world.browser_home())},
    )
    yield browser
    browser.close()


@pytest.fixture
def watch(world):
    """Fails the test for anything that must not happen."""
    watch = world.watch
    yield watch
    for folder, host in world.mailboxes():
        watch.mails(folder, host)
    watch.look_at_logs()
    faults = list(dict.fromkeys(watch.faults))
    watch.faults.clear()
    assert faults == []


@pytest.fixture
def new_context(chromium, watch):
    """A factory of empty browser profiles that ask only ``hosts`` (the service by default)."""
    made = []

    def new(*hosts, statuses=(422,), expected=None, **options):
        # A transition that the next page ends would be an error of the browser.
        context = chromium.new_context(**{"reduced_motion": "reduce", **options})
        context.set_default_timeout(60_000)
        watch.browser(context, *(hosts or (AUTH,)), statuses=statuses, expected=expected)
        made.append(context)
        return context

    yield new
    for context in made:
        context.close()


@pytest.fixture
def visitor(new_context, world, watch):
    """A factory of people, each with a separate browser, at the service."""
    mailbox = Mailbox(watch, world.mailbox, AUTH)

    def new(*hosts, **options):
        return Visitor(new_context(*hosts, **options), mailbox)

    return new
