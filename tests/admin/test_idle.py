"""The console that is not used for `admin-idle` asks for all proofs again."""

import pytest

from tests.support.administrators import SETTINGS, signed_in

MINUTE = 60
USERS = "/admin/users"


@pytest.fixture
def opened(site_with, frozen):
    """``opened(idle)``: a console that an administrator has just opened."""

    def made(idle):
        site = site_with(**SETTINGS, admin_idle=idle)
        signed_in(site, "owner")
        site.http.get(USERS, status=200)
        return site

    return made


@pytest.mark.parametrize(("idle", "pause"), [("30m", 25 * MINUTE), ("1m", 50), ("10s", 8)])
def test_a_console_in_use_stays_open_however_long(opened, frozen, idle, pause):
    site = opened(idle)
    for _ in range(10):
        for share in (0.3, 0.7):  # of the pause, between two pages
            frozen.advance(share * pause)
            site.http.get(USERS, status=200)


@pytest.mark.parametrize(("idle", "seconds"), [("30m", 30 * MINUTE), ("1m", MINUTE)])
def test_after_the_pause_it_asks_for_the_proofs_and_leads_back(opened, frozen, idle, seconds):
    site = opened(idle)
    frozen.advance(seconds)
    answer = site.http.get(USERS, status=302)
    assert "/login/verify?next=%2Fadmin%2Fusers" in answer.location


def test_the_pause_counts_from_the_last_use(opened, frozen):
    site = opened("30m")
    frozen.advance(20 * MINUTE)
    site.http.get(USERS, status=200)
    frozen.advance(29 * MINUTE)
    site.http.get(USERS, status=200)
    frozen.advance(31 * MINUTE)
    site.http.get(USERS, status=302)


def test_an_older_cookie_and_a_forged_one_count_as_what_they_are(opened, frozen):
    site = opened("30m")
    cookie = site.http.cookies["authsite-admin"]
    frozen.advance(29 * MINUTE)
    site.http.get(USERS, status=200)
    site.http.set_cookie("authsite-admin", cookie)
    frozen.advance(2 * MINUTE)
    site.http.get(USERS, status=302)
    site.http.set_cookie("authsite-admin", "AQ" + cookie[2:])
    site.http.get(USERS, status=302)
