"""The audit trail is written by prepared statements, and sealed by row order."""

from tests.support import databases

pytest_collectstart = databases.both
