"""Sites whose settings have fake providers."""

from contextlib import ExitStack

import pytest

from tests.providers.people import with_providers
from tests.support import databases
from tests.support.fake_provider import FakeProvider, fake_provider
from tests.support.site import Site


@pytest.fixture
def providers():
    """``providers("google")``: a fake provider, which answers until the end of the test."""
    with ExitStack() as stack:
        yield lambda preset, name=None: stack.enter_context(fake_provider(preset, name))


@pytest.fixture
def site_of(monkeypatch, database_url):
    """``site_of(fake)``, ``site_of(fake.provider(link="off"), registration="off")``."""

    def make(*given, empty=True, **settings):
        with_providers(monkeypatch, *map(as_value, given))
        site = Site(database_url, **settings)
        if empty:
            databases.empty(site.database)
        made.append(site)
        return site

    made = []
    yield make
    for site in made:
        site.database.dispose()


@pytest.fixture
def host_of(monkeypatch, host_with):
    """``host_of(build, fake)``: a host application with the provider; see `host_with`."""

    def make(build, *given):
        with_providers(monkeypatch, *map(as_value, given))
        return host_with(build)

    return make


def as_value(given):
    """The provider of the settings; ``given``: a fake one, or the value itself."""
    return given.provider() if isinstance(given, FakeProvider) else given
