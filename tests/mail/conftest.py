"""The outbox leases its rows, which each database locks in its own way."""

from tests.support import databases

pytest_collectstart = databases.both
