"""What the tests of bad input share: one site whose rows no refused request changes."""

import pytest

from authsite.db.base import Base
from tests.support import databases
from tests.support.site import WEB


def with_ann(site):
    """``site``, emptied, with the web client and Ann, who is logged in (``token_of_ann``)."""
    site.http.reset()
    databases.empty(site.database)
    keys = site.first_party("web")
    site.user()
    site.token_of_ann = site.login(keys)["access_token"]
    return site


@pytest.fixture(scope="module")
def refusing(sites):
    """A site for one file of tests whose requests are all refused."""
    return with_ann(sites(**WEB))


@pytest.fixture
def unchanged(refusing):
    """Every row is after the test what it was before."""
    before = rows(refusing)
    yield
    assert rows(refusing) == before


@pytest.fixture
def renewed(sites):
    """``renewed()`` is that site, each time as it was at first."""
    return lambda: with_ann(sites(**WEB))


def rows(site):
    with site.database.reader.connect() as connection:
        return {
            table.name: sorted(map(str, connection.execute(table.select())))
            for table in Base.metadata.sorted_tables
        }
