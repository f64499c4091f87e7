"""What several functional tests share: hosts, and a site that no refused request changes."""

import pytest

from authsite.db.base import Base
from tests.support import databases
from tests.support.host import HostSite
from tests.support.site import WEB


@pytest.fixture
def host_with(database_url):
    """A factory of host applications on an empty database; see `HostSite`."""
    made = []

    def host(build, **options):
        site = HostSite(database_url, build, **options)
        made.append(site)
        databases.empty(site.database)
        return site

    yield host
    for site in made:
        site.database.dispose()


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
