"""Every test here runs on both databases: a code is used up by one of several requests."""

import pytest

from tests.support import databases
from tests.support.codes import openid_provider

pytest_collectstart = databases.both


@pytest.fixture
def site(site_with):
    """An OpenID Provider where Ann has signed in with a browser."""
    return openid_provider(site_with)
