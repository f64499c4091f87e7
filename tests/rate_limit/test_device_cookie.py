"""The device cookie: a browser that logged in before is not locked out by strangers."""

import base64
from http.cookies import SimpleCookie

import pytest

from tests.support.site import PASSWORD, WEB, Site

LIMITS = {
    "limits": "on",
    "limits_login_account": "3/5 minutes",
    "limits_login_address": "900/minute",
}
LOGIN = "/v1/clients/web/login"


@pytest.fixture
def site(site_with, frozen):
    """Ann's site with the web client."""
    return prepared(site_with(**LIMITS, **WEB))


def prepared(made):
    made.user()
    made.user("bob@example.com")
    made.first_party("web")
    return made


def log_in(
    site,
    password=PASSWORD,
    name="ann@example.com",
    *,
    cookie=None,
    address="203.0.113.9",
    cookie_name="device",
):
    """A login by browser from an unknown address; only ``cookie`` is sent."""
    site.http.reset()
    headers = {"Cookie": f"{cookie_name}={cookie}"} if cookie else {}
    return site.http.post(
        LOGIN, {"username": name, "password": password}, headers=headers, status="*",
        extra_environ={"REMOTE_ADDR": address},
    )  # fmt: skip


def device_cookie(answer, name="device"):
    cookies = [SimpleCookie(header) for header in answer.headers.getall("Set-Cookie")]
    [found] = [cookie[name] for cookie in cookies if name in cookie]
    return found


def close(site, name="ann@example.com"):
    """Strangers use up the limit of an account."""
    for number in range(4):
        last = log_in(site, "not this one", name, address=f"198.51.100.{number}")
    assert last.status_int == 429


def test_a_login_by_browser_sets_a_cookie_that_scripts_cannot_read(site):
    cookie = device_cookie(log_in(site))
    assert (cookie["httponly"], cookie["samesite"], cookie["path"]) == (True, "Lax", "/")
    assert cookie["max-age"] == str(30 * 24 * 3600)
    assert cookie["secure"] == ""
    assert b"ann@" not in base64.urlsafe_b64decode(cookie.value)


def test_l17_on_https_no_other_host_can_set_the_cookie(database_url, frozen):
    """L17: without ``__Host-`` a sibling subdomain or a page over http could."""
    site = Site(database_url, **LIMITS, **WEB, base_url="https://auth.example.org")
    from tests.support import databases

    databases.empty(site.database)
    cookie = device_cookie(log_in(prepared(site)), "__Host-device")
    assert (cookie["secure"], cookie["domain"], cookie["path"]) == (True, "", "/")
    close(site)
    secret = cookie.value
    assert log_in(site, cookie=secret, cookie_name="__Host-device").status_int == 200
    assert log_in(site, cookie=secret, address="198.51.100.9").status_int == 429
    site.database.dispose()


def test_a_login_that_fails_sets_no_cookie(site):
    assert "Set-Cookie" not in log_in(site, "not this one").headers


def test_with_limits_off_a_browser_is_recognized_all_the_same(site_with):
    assert "device=" in str(log_in(prepared(site_with(**WEB))).headers)


@pytest.mark.control("L10")
def test_the_owners_browser_gets_in_from_anywhere_while_others_fill_the_limit(site):
    cookie = device_cookie(log_in(site, address="192.0.2.1")).value
    close(site)
    assert log_in(site).status_int == 429
    assert log_in(site, cookie=cookie).status_int == 200


@pytest.mark.control("L10")
def test_a_browser_has_a_limit_of_its_own(site):
    cookie = device_cookie(log_in(site, address="192.0.2.1")).value
    guesses = [log_in(site, "not this one", cookie=cookie).status_int for _ in range(4)]
    assert guesses == [400, 400, 400, 429]
    assert log_in(site, cookie=cookie).status_int == 429
    assert log_in(site).status_int == 200


@pytest.mark.control("L10")
def test_logging_in_again_keeps_the_limit_of_the_browser(site):
    first = device_cookie(log_in(site)).value
    assert log_in(site, "not this one", cookie=first).status_int == 400
    second = device_cookie(log_in(site, cookie=first)).value
    guesses = [log_in(site, "not this one", cookie=second).status_int for _ in range(3)]
    assert guesses == [400, 400, 429]


@pytest.mark.control("L10")
def test_a_cookie_is_good_for_one_account_only(site):
    cookie = device_cookie(log_in(site, name="bob@example.com")).value
    close(site)
    assert log_in(site, cookie=cookie).status_int == 429


@pytest.mark.control("L10")
def test_a_cookie_ends_after_thirty_days(site, frozen):
    cookie = device_cookie(log_in(site, address="192.0.2.1")).value
    frozen.advance(30 * 24 * 3600 - 1)
    close(site)
    assert log_in(site, cookie=cookie).status_int == 200
    frozen.advance(1)
    close(site)
    assert log_in(site, cookie=cookie, address="203.0.113.10").status_int == 429


@pytest.mark.control("L10")
def test_a_made_up_cookie_changes_nothing(site):
    good = device_cookie(log_in(site, address="192.0.2.1")).value
    close(site)
    raw = base64.urlsafe_b64decode(good)
    for place in range(len(raw)):
        flipped = raw[:place] + bytes([raw[place] ^ 1]) + raw[place + 1 :]
        cookie = base64.urlsafe_b64encode(flipped).decode()
        assert log_in(site, cookie=cookie).status_int == 429, place
    for rubbish in ("x", "=" * 84, "A" * 84, "A" * 4000, good[:-4], good + "AAAA", "\xe9" * 84):
        assert log_in(site, cookie=rubbish).status_int == 429, rubbish
