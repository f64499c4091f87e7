"""A site with the endpoint, an application, and Ann."""

import pytest

from tests.providers.conftest import providers, site_of  # noqa: F401
from tests.support.authorizing import OPENID, application


@pytest.fixture
def issuer(site_with):
    """A site with the authorization endpoint."""
    return site_with(**OPENID)


@pytest.fixture
def app(issuer):
    """An application of a third party."""
    return application(issuer)


@pytest.fixture
def ann(issuer):
    """A user with a confirmed address."""
    return issuer.user(confirmed=True)
