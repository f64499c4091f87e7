"""A site with console and API for administrators."""

import pytest

from tests.support.administrators import SETTINGS


@pytest.fixture
def site(site_with):
    """The site, without users."""
    return site_with(**SETTINGS)
