"""A site with console and API for administrators."""

import pytest

from tests.support.administrators import SETTINGS

from .acting import ANN


@pytest.fixture
def site(site_with):
    """The site, without users."""
    return site_with(**SETTINGS)


@pytest.fixture
def ann(site):
    """A confirmed user, at whom an administrator acts."""
    return site.user(ANN, confirmed=True)
