"""Sites that are OpenID Providers, and their processes."""

from dataclasses import replace

import pytest

from authsite.oauth.oidc.keys.ring import ring_of
from authsite.platform.crypto.sealing import sealing_keys
from authsite.platform.registrations import Registrations
from authsite.platform.settings import new_sealing_key

ISSUER = "https://auth.example.com"


@pytest.fixture
def provider_with(site_with):
    """A factory of sites with OpenID Connect on, without keys yet."""

    def made(**settings):
        site = site_with(**{"base_url": ISSUER, **settings})
        ring_of(services_of(site)).forget()
        return site

    return made


@pytest.fixture
def provider(provider_with):
    """A site with OpenID Connect on, without keys yet."""
    return provider_with()


def services_of(site):
    """The services of the site's application."""
    return site.app.registry["authsite"]


def another_process(site, *, other_sealing=False):
    """Services of the same application in a process that has read no keys yet.

    ``other_sealing``: its `sealing-key` and `secret` are others, which open nothing.
    """
    services = replace(services_of(site), registrations=Registrations())
    if other_sealing:
        services = replace(services, sealing=sealing_keys([new_sealing_key()], []))
    return services
