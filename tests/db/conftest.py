"""What several tests of the database share."""

import pytest

from authsite.platform.db import open_database
from tests.support import databases

pytest_collectstart = databases.both_with_each_value


@pytest.fixture
def database(fresh_url):
    """A database without a schema."""
    made = open_database(fresh_url)
    yield made
    made.dispose()
