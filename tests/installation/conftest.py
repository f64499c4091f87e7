"""These tests are about rows of the database, so they run on both."""

from tests.support import databases

pytest_collectstart = databases.both
