"""PyPI `oidc-provider-mock` as another provider, over HTTP: its answers are Authlib's."""

from contextlib import contextmanager

import httpx
import pytest

from tests.providers.people import come_back, identities, send, signed_in_as


class MockProvider:
    """The provider ``corp`` at ``issuer``."""

    def __init__(self, issuer):
        self.name, self.issuer = "corp", issuer

    def settings(self):
        """The keyword arguments of `site_with`."""
        values = {"client-id": "us", "client-secret": "any", "issuer": self.issuer}
        values["trust-email"] = "on"
        return {"providers": "corp", **{f"providers.corp.{k}": v for k, v in values.items()}}

    def authorize(self, url):
        """Sign in there: the URL that the browser is sent back to, on this server."""
        location = httpx.post(url, data={"sub": "ann"}).headers["Location"]
        return location[location.index("/login/with/") :]


@pytest.fixture
def mock():
    with running() as issuer:
        yield MockProvider(issuer)


@contextmanager
def running():
    oidc_provider_mock = pytest.importorskip("oidc_provider_mock")
    claims = {"email": "ann@example.com", "email_verified": True, "name": "Ann"}
    people = [oidc_provider_mock.User(sub="ann", claims=claims)]
    # It takes no authorization request without a nonce.
    with oidc_provider_mock.run_server_in_thread(require_nonce=True, user_claims=people) as server:
        yield f"http://localhost:{server.server_port}"


def test_a_person_registers_and_signs_in_again(mock, site_with):
    site = site_with(**mock.settings())
    page = come_back(site, mock).follow()
    assert send(page, "/create").status_int == 303
    assert "ann@example.com" in signed_in_as(site)
    [identity] = identities(site)
    assert (identity.issuer, identity.subject) == (mock.issuer, "ann")

    site.http.reset()
    assert signed_in_as(site) is None
    assert come_back(site, mock).location.endswith("/account")
    assert "ann@example.com" in signed_in_as(site)
