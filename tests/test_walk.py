"""The first thing a user tries: register, log in, call, refresh, log out."""

import pytest

pytestmark = pytest.mark.both_databases


def test_the_whole_walk_works(site):
    keys = site.client()
    site.http.post_json(
        "/v1/register", {"email": "bo@example.com", "password": "purple wolf 77 tea"}, status=201
    )
    tokens = site.login(keys, "bo@example.com", "purple wolf 77 tea")
    assert site.me(tokens["access_token"]).json["email"] == "bo@example.com"
    fresh = site.refresh(keys, tokens["refresh_token"])
    assert site.me(fresh["access_token"]).json["email"] == "bo@example.com"
    site.logout(fresh["access_token"])
    site.me(fresh["access_token"], status=401)
    site.refresh(keys, fresh["refresh_token"], status=400)
