"""A host with limits, where Ann has an authenticator app."""

import pytest

from tests.factor_pages.people import add_app

from .people import routes


@pytest.fixture
def host(host_with, frozen):
    """A factory of hosts with the routes of these tests."""

    def made(**settings):
        return host_with(routes, **{"limits": "on", **settings})

    return made


@pytest.fixture
def plain(host):
    """Ann has no factor."""
    site = host()
    site.ann = site.user(confirmed=True)
    return site


@pytest.fixture
def site(plain):
    """Ann has an authenticator app and recovery codes."""
    plain.phone, plain.codes = add_app(plain, plain.ann)
    return plain
