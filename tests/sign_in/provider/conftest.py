"""One site for all ways to fake providers: only their names are new in each test."""

import pytest

from tests.support import databases
from tests.support.provider_trips import Trips, trips_at

_TRIPS = {}


@pytest.fixture
def trips(database_url):
    """`Trips` on an empty database; the providers of the test end with it."""
    if database_url not in _TRIPS:
        _TRIPS[database_url] = Trips(database_url)
    made = _TRIPS[database_url]
    databases.empty(made.site.database)
    made.http.reset()
    with made.stack:
        yield made
    made.site.database.dispose()  # another test may end all connections to this database


@pytest.fixture
def trips_with(database_url):
    """A factory: ``with trips_with(secret=…) as trips`` has a separate site."""
    return lambda **settings: trips_at(database_url, **settings)
