"""Refreshes under `second-factor = required`: a login without a second factor ends."""

import pytest
from sqlalchemy import update

from authsite.oauth.models import Family
from authsite.sign_in import credentials
from tests.mfa.two_steps import codes_of

DAY = 24 * 3600


@pytest.fixture
def site(site_with, frozen):
    made = site_with(second_factor="required", second_factor_from="2031-05-19", expires_in="1h")
    made.keys = made.client()
    made.user(confirmed=True)
    made.clock = frozen
    return made


def login_before(site, *amr):
    """The tokens of a login of the day before the policy holds."""
    pair = site.login(site.keys)
    with site.db() as db:
        db.execute(update(Family).values(facts=credentials.pack(amr)))
    pair = site.refresh(site.keys, pair["refresh_token"])
    site.clock.advance(2 * DAY)
    return pair


@pytest.mark.parametrize("amr", [("pwd",), ("pwd", "email"), ("idp",), ("pop",)])
def test_a_login_below_the_level_cannot_be_refreshed(site, amr):
    pair = login_before(site, *amr)
    answer = site.refresh(site.keys, pair["refresh_token"], status=400)
    assert (answer["error"], codes_of(answer)) == ("invalid_grant", ["mfa_required"])


@pytest.mark.parametrize(
    "amr", [("pwd", "otp"), ("pwd", "recovery"), ("pop", "user"), ("pwd", "device")]
)
def test_a_login_with_a_second_factor_can(site, amr):
    pair = login_before(site, *amr)
    assert site.refresh(site.keys, pair["refresh_token"])["access_token"]


def test_a_machine_can(site):
    keys = site.client("personal")
    pair = site.token(keys, grant_type="client_credentials").json
    site.clock.advance(2 * DAY)
    assert site.refresh(keys, pair["refresh_token"])["access_token"]


def test_a_login_without_a_factor_is_told_to_add_one(site):
    site.clock.advance(2 * DAY)
    answer = site.login(site.keys, status=400)
    assert (answer["error"], answer["mfa_enroll"]) == ("mfa_required", False)
    assert answer["mfa_methods"] == ["email"]
