"""The world of `tests.support.world`, Chromium in it, and what must not happen anywhere."""

from contextlib import ExitStack

import pytest

from tests.conftest import need
from tests.support import browsers, nginx
from tests.support.installed import Installed
from tests.support.visitor import Mailbox, Visitor
from tests.support.world import AUTH, World


# For the whole process: going through the tests of other folders in between must not stop it.
@pytest.fixture(scope="session")
def world(tmp_path_factory):
    """Servers that all tests of this process share."""
    need(nginx.available(), "nginx")
    with ExitStack() as stack:
        # The folder is for nginx's own user to read, too.
        folder = tmp_path_factory.mktemp("world")
        yield World(folder, stack, Installed.once(tmp_path_factory))


# One for this folder and those below it: a process has room for one Playwright at a time. Not for
# the whole session: its event loop would be in the way of later tests.
@pytest.fixture(scope="package")
def playwright():
    """Playwright, which starts browsers."""
    with browsers.playwright() as running:
        yield running


@pytest.fixture(scope="module")
def program():
    """The browser's program; that of the journey is the whole Chromium."""
    return browsers.PROGRAM


@pytest.fixture(scope="module")
def chromium(world, playwright, program):
    """A browser that trusts the authority of the tests and finds the servers by their names."""
    home, front = world.folder / "browser", world.front
    with browsers.chromium(
        playwright, home, world.authority, front=front, program=program
    ) as browser:
        yield browser


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

    def new(*hosts, statuses=(422,), expected=None, **options):
        context = profile(**options)
        watch.browser(context, *(hosts or (AUTH,)), statuses=statuses, expected=expected)
        return context

    with browsers.profiles(chromium) as profile:
        yield new


@pytest.fixture
def visitor(new_context, world, watch):
    """A factory of people, each with a separate browser, at the service."""
    mailbox = Mailbox(watch, world.mailbox, AUTH)

    def new(*hosts, **options):
        return Visitor(new_context(*hosts, **options), mailbox)

    return new
