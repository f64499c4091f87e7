"""Fixtures of the tests of cleanup and of scheduled tasks."""

import pytest

from tests.support import databases

pytest_collectstart = databases.both


@pytest.fixture
def site_with(site_with):
    """The factory of all tests; here the tables have no pages of former tests' rows."""

    def truncated(**settings):
        site = site_with(**settings)
        databases.truncate(site.database)
        return site

    return truncated
