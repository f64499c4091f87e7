"""A site where people register by invitation alone."""

import pytest

from tests.support.invitations import Inviting


@pytest.fixture
def site(site_with):
    """The site, with a group and without users."""
    made = site_with(registration="invite")
    Inviting(made).group("ops", "Operations")
    return made


@pytest.fixture
def inviting(site):
    return Inviting(site)
