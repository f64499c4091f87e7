import pytest

from tests.support.authorizing import OPENID, sign_in


@pytest.fixture
def site(site_with):
    """A site where Ann has signed in with a browser."""
    site = site_with(**OPENID)
    site.user(confirmed=True)
    sign_in(site)
    return site
