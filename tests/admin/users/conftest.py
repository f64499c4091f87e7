"""An administrator, and a user."""

import pytest

from tests.support import administrators

from .calls import ALL


@pytest.fixture
def root(site):
    """The header of an administrator of the group security."""
    administrators.make(site, "security")
    headers = administrators.token(site, ALL)
    site.mails()
    return headers


@pytest.fixture
def ann(site):
    """A confirmed user."""
    return site.user("ann@example.com", confirmed=True)
