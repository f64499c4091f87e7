"""A new secret in front of the old one logs no user out; without the old one all is invalid."""

import pytest

from tests.support.site import SECRET, Site

NEW = "Lq8ZtXw3VnBy6KdRj9HcMs2PfGa5UeTo"


@pytest.fixture
def with_secret(site):
    """A factory: the same site, started with other secrets."""
    made = []

    def started(secret):
        made.append(Site(site.url, secret=secret))
        return made[-1]

    yield started
    for other in made:
        other.database.dispose()


@pytest.mark.control("K03")
def test_tokens_of_the_old_secret_stay_active_and_are_renewed_under_the_new_one(site, with_secret):
    site.user()
    keys = site.client()
    old = site.login(keys)
    both = with_secret(f"{NEW}\n{SECRET}")
    assert both.me(old["access_token"]).json["email"] == "ann@example.com"
    renewed = both.refresh(keys, old["refresh_token"])
    site.me(renewed["access_token"], status=401)  # it does not know the new secret yet
    only_new = with_secret(NEW)
    only_new.me(renewed["access_token"])
    only_new.refresh(keys, renewed["refresh_token"])


@pytest.mark.control("K03")
def test_once_the_old_secret_is_gone_its_tokens_are_refused_and_passwords_still_work(
    site, with_secret
):
    site.user()
    keys = site.client()
    old = site.login(keys)
    only_new = with_secret(NEW)
    only_new.me(old["access_token"], status=401)
    only_new.refresh(keys, old["refresh_token"], status=400)
    only_new.login(keys)
    site.me(old["access_token"])  # nothing was written
