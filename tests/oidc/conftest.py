"""An OpenID Provider, and a user who has signed in with a browser."""

import pytest

from authsite.users.models import User
from tests.support.codes import OPENID
from tests.support.pages import sign_in


@pytest.fixture
def provider(site_with):
    """An OpenID Provider where Ann Lee has signed in with a browser."""
    site = site_with(**OPENID)
    user = site.user(confirmed=True, username="annlee", phone="+49302345678")
    with site.db() as db:
        db.get(User, user.id).name = "Ann Lee"
    sign_in(site)
    return site
