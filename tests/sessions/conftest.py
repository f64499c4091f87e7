"""Sessions are found and ended by statements that each database runs in its own way."""

from tests.support import databases

pytest_collectstart = databases.both
