"""Tokens are rotated by statements that each database has its own form of."""

from tests.support import databases

pytest_collectstart = databases.both
