"""Fixtures: every test that asks for ``site`` runs on SQLite and on PostgreSQL."""

import os
import uuid

import pytest

# Before authsite is imported: a developer's own environment file must not reach the tests.
os.environ["AUTHSITE_ENV_FILE"] = "/nonexistent/authsite.env"
for _name in [name for name in os.environ if name.startswith(("CLIENT_", "API_"))]:
    del os.environ[_name]
for _name in [name for name in os.environ if name.startswith("AUTHSITE_")]:
    if _name not in ("AUTHSITE_ENV_FILE", "AUTHSITE_TEST_REQUIRE"):
        del os.environ[_name]

from authsite import clock
from tests.support import databases, mails
from tests.support.frozen import FrozenClock
from tests.support.site import Site


def need(available, what):
    """Skip without ``what``; under AUTHSITE_TEST_REQUIRE=all (CI) fail instead."""
    if available:
        return
    if os.environ.get("AUTHSITE_TEST_REQUIRE") == "all":
        pytest.fail(f"{what} is required here and missing")
    pytest.skip(f"{what} is not installed")


@pytest.fixture(scope="session", params=databases.BACKENDS)
def backend(request):
    """The name of the database at hand."""
    return request.param


# Kept for the whole process, not by fixtures: where files are spread over processes, pytest goes
# back and forth between the databases and would make everything anew each time.
_URLS = {}
_SITES = {}


@pytest.fixture(scope="session")
def database_url(backend, tmp_path_factory):
    """A migrated database that the tests of this process share."""
    if backend not in _URLS:
        url = databases.new_url(backend, tmp_path_factory.mktemp(backend), "shared")
        _URLS[backend] = databases.migrated(url)
    return _URLS[backend]


@pytest.fixture
def fresh_url(backend, tmp_path):
    """A database of one test alone, still without a schema."""
    return databases.new_url(backend, tmp_path, f"own_{uuid.uuid4().hex}")


@pytest.fixture(scope="session")
def sites(database_url):
    """Applications by their settings; made once, since the start is the slow part."""

    def site_with(**settings):
        key = (database_url, *sorted(settings.items()))
        if key not in _SITES:
            _SITES[key] = Site(database_url, **settings)
        for other, site in _SITES.items():
            if other != key:  # PostgreSQL takes a hundred connections, and there are many sites
                site.database.dispose()
        return _SITES[key]

    return site_with


@pytest.fixture
def site_with(sites):
    """A factory: ``site_with(refresh_grace="0s")`` is a site with these settings, empty."""

    def emptied(**settings):
        site = sites(**settings)
        site.http.reset()
        databases.empty(site.database)
        mails.read_folder(site.cfg.mail_folder)  # what another test sent and did not read
        return site

    return emptied


@pytest.fixture
def site(site_with):
    """A site with the settings of `tests.support.site`."""
    return site_with()


@pytest.fixture
def frozen(monkeypatch):
    """The time, standing still: ``frozen.advance(seconds)`` moves it."""
    made = FrozenClock()
    monkeypatch.setattr(clock, "now", made.now)
    return made
