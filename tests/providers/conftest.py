"""Sites whose settings have fake providers."""

from contextlib import ExitStack

import pytest

from tests.support import databases
from tests.support.fake_provider import FakeProvider, fake_provider
from tests.support.site import Site


@pytest.fixture
def providers():
    """``providers("google")``: a fake provider, which answers until the end of the test."""
    with ExitStack() as stack:
        yield lambda preset, name=None: stack.enter_context(fake_provider(preset, name))


@pytest.fixture
def site_of(database_url):
    """``site_of(fake)``, ``site_of((fake, {"link": "off"}), registration="off")``."""

    def make(*given, empty=True, **settings):
        site = Site(database_url, **settings_of(given), **settings)
        if empty:
            databases.empty(site.database)
        made.append(site)
        return site

    made = []
    yield make
    for site in made:
        site.database.dispose()


@pytest.fixture
def host_of(host_with):
    """``host_of(build, fake)``: a host application with the provider; see `host_with`."""

    def make(build, *given):
        return host_with(build, **settings_of(given))

    return make


def settings_of(given):
    """The settings of providers: fake ones, or pairs of one and its further keys."""
    pairs = [(each, {}) if isinstance(each, FakeProvider) else each for each in given]
    values = {"providers": " ".join(fake.name for fake, _ in pairs)}
    for fake, more in pairs:
        values |= fake.settings(**more)
    return values


@pytest.fixture
def google(providers):
    return providers("google")


@pytest.fixture
def github(providers):
    return providers("github")
