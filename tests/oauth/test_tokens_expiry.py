"""Life and death of tokens by the clock; ``expires_in`` is what is really left."""

import logging
from datetime import datetime, timedelta

import pytest

from authsite.oauth.tokens.format import ACCESS, REFRESH
from tests.support.codec import TokenCodec
from tests.support.site import SECRET, Site

# A whole second, and the worst fractions on both sides of one.
FRACTIONS = (0, 1e-6, 0.5, 0.999999)


@pytest.fixture
def short(site_with, frozen):
    """Access tokens of 90 seconds, refresh tokens of 10 minutes, no grace."""
    site = site_with(expires_in="90s", refresh_expires_in="10m", refresh_grace="0s")
    site.user()
    return site


def expiry(kind, text, frozen):
    """Unix seconds, read from the token itself."""
    return TokenCodec([SECRET]).decode(kind, text, frozen.at).expires


@pytest.mark.control("T17")
@pytest.mark.parametrize("fraction", FRACTIONS)
def test_expires_in_is_the_lifetime_in_seconds_and_the_token_keeps_that_promise(
    short, frozen, fraction
):
    frozen.advance(fraction)
    tokens = short.login(short.client())
    assert tokens["expires_in"] == 90
    assert isinstance(tokens["expires_in"], int)
    frozen.advance(89.999)
    short.me(tokens["access_token"])


@pytest.mark.control("T17")
@pytest.mark.parametrize("fraction", FRACTIONS)
def test_an_access_token_works_before_its_expiry_and_never_from_it_on(short, frozen, fraction):
    frozen.advance(fraction)
    token = short.login(short.client())["access_token"]
    expires = expiry(ACCESS, token, frozen)
    for seconds, status in ((-1, 200), (0, 401), (1, 401)):
        frozen.set_unix(expires + seconds)
        short.me(token, status=status)


@pytest.mark.control("T17")
@pytest.mark.parametrize(("seconds", "status"), [(-1, 200), (0, 400), (1, 400)])
def test_a_refresh_token_works_before_its_expiry_and_never_from_it_on(
    short, frozen, seconds, status
):
    keys = short.client()
    token = short.login(keys)["refresh_token"]
    frozen.set_unix(expiry(REFRESH, token, frozen) + seconds)
    answer = short.refresh(keys, token, status=status)
    assert answer.get("error", "invalid_grant") == "invalid_grant"


def test_a_refresh_gives_both_tokens_their_full_life_again(short, frozen):
    keys = short.client()
    tokens = short.login(keys)
    for _ in range(5):  # together far longer than one refresh token lives
        frozen.advance(599)
        tokens = short.refresh(keys, tokens["refresh_token"])
        assert tokens["expires_in"] == 90
    frozen.advance(89)
    short.me(tokens["access_token"])


def test_an_expired_access_token_is_answered_with_invalid_token(short, frozen):
    token = short.login(short.client())["access_token"]
    frozen.advance(91)
    assert 'error="invalid_token"' in short.me(token, status=401).headers["WWW-Authenticate"]


def test_an_expired_refresh_token_does_not_count_as_reuse(short, frozen):
    keys = short.client()
    first = short.login(keys)
    short.refresh(keys, first["refresh_token"])
    frozen.advance(601)
    short.refresh(keys, first["refresh_token"], status=400)
    assert short.families()[0].revoked_at is None


@pytest.mark.control("T17")
def test_a_bare_number_means_days_and_the_default_is_ten_years(site_with, frozen):
    for settings, days in (({}, 3650), ({"expires_in": "7"}, 7)):
        site = site_with(**settings)
        tokens = site.token(site.client("personal"), grant_type="client_credentials").json
        assert tokens["expires_in"] == days * 86400
        assert expiry(ACCESS, tokens["access_token"], frozen) == (
            (frozen.at + timedelta(days=days)).timestamp()
        )


@pytest.mark.control("T17")
def test_a_start_in_production_warns_of_tokens_that_are_valid_for_years(database_url, caplog):
    production = {"production": "true", "base_url": "http://localhost", "mail_driver": "file"}
    with caplog.at_level(logging.WARNING, "authsite.settings"):
        Site(database_url, **production).database.dispose()
    warned = " ".join(record.getMessage() for record in caplog.records)
    assert "authsite.expires-in: a stolen token stays valid for 3650d" in warned
    assert "authsite.refresh-expires-in: a stolen token stays valid for 3650d" in warned


def test_row_and_token_have_the_same_refresh_expiry(short, frozen):
    keys = short.client()
    first = short.login(keys)
    frozen.advance(30.25)
    second = short.refresh(keys, first["refresh_token"])
    expires = expiry(REFRESH, second["refresh_token"], frozen)
    row = short.families()[0].refresh_expires_at
    assert row == datetime.fromtimestamp(expires, row.tzinfo)
