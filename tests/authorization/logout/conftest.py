"""An application that Ann is signed in at, and that signs her out."""

import pytest

from tests.support.authorizing import application, code_for, redeemed
from tests.support.signing_out import GOODBYE, OTHER, register


@pytest.fixture
def app(issuer, ann):
    """An application with two addresses for after a logout."""
    made = application(issuer)
    register(issuer, made, GOODBYE, OTHER)
    return made


@pytest.fixture
def tokens(issuer, app):
    """What the application got for Ann, who is signed in with this browser."""
    return redeemed(issuer, app, code_for(issuer, app))
