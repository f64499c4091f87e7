"""A site where programs may register themselves."""

import pytest

from tests.support.authorizing import OPENID

SCOPES = "notes:read: Read your notes\nnotes:write: Change your notes\nbilling: See your bills"
OPEN = {
    **OPENID,
    "client_registration": "open",
    "client_registration_scopes": "notes:read notes:write",
    "scopes": SCOPES,
}


@pytest.fixture
def issuer(site_with):
    """A site with the registration endpoint."""
    return site_with(**OPEN)


@pytest.fixture
def ann(issuer):
    """A user with a confirmed address."""
    return issuer.user(confirmed=True)
