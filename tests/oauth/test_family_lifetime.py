"""family-lifetime: no token works longer after the login, however often it is refreshed."""

import pytest

from tests.support.site import Site

DAY = 86400


@pytest.fixture
def limited(site_with):
    site = site_with(expires_in="10h", refresh_expires_in="20h", family_lifetime="1d")
    site.user()
    return site


def test_a_refresh_does_not_extend_it(limited, frozen):
    keys = limited.client()
    pair = limited.login(keys)
    assert pair["expires_in"] == 36000
    frozen.advance(19 * 3600)
    pair = limited.refresh(keys, pair["refresh_token"])
    assert pair["expires_in"] == 5 * 3600
    frozen.advance(5 * 3600 - 1)
    limited.me(pair["access_token"])
    frozen.advance(1)
    limited.me(pair["access_token"], status=401)
    assert limited.refresh(keys, pair["refresh_token"], 400)["error"] == "invalid_grant"


def test_a_repeated_refresh_gets_the_same_pair_near_the_end_too(limited, frozen):
    keys = limited.client()
    first = limited.login(keys)["refresh_token"]
    frozen.advance(19 * 3600)
    pair = limited.refresh(keys, first)
    frozen.advance(2)
    again = limited.refresh(keys, first)
    assert again == pair | {"expires_in": pair["expires_in"] - 2}


def test_it_ends_families_from_before_the_setting_when_they_are_refreshed(site, frozen):
    site.user()
    keys = site.client()
    pair = site.login(keys)
    limited = Site(site.url, family_lifetime="1d")
    frozen.advance(DAY)
    assert limited.refresh(keys, pair["refresh_token"], 400)["error"] == "invalid_grant"
    assert site.introspect(keys, pair["refresh_token"])["active"]
    assert limited.introspect(keys, pair["refresh_token"]) == {"active": False}
    limited.database.dispose()
    assert site.families()[0].revoked_at is None


def test_the_families_of_clients_end_as_well(limited, frozen):
    keys = limited.client("personal")
    pair = limited.token(keys, grant_type="client_credentials").json
    frozen.advance(19 * 3600)
    pair = limited.refresh(keys, pair["refresh_token"])
    frozen.advance(5 * 3600)
    limited.refresh(keys, pair["refresh_token"], 400)


def test_without_it_a_family_lives_on(site, frozen):
    site.user()
    keys = site.client()
    pair = site.login(keys)
    for _ in range(3):
        frozen.advance(3000 * DAY)
        pair = site.refresh(keys, pair["refresh_token"])
