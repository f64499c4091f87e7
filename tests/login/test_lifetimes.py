"""How long a browser stays signed in: session-idle, session-lifetime and session-remember."""

from datetime import timedelta

import pytest

from tests.support.pages import sign_in
from tests.support.purging import purged
from tests.support.site import bearer


@pytest.fixture
def short(site_with):
    site = site_with(session_idle="30m", session_lifetime="2h", session_remember="5d")
    site.user()
    return site


def minutes(count):
    return timedelta(minutes=count).total_seconds()


@pytest.mark.control("S03")
@pytest.mark.parametrize(
    ("remember", "after", "status"),
    [
        ({}, minutes(27), 200),
        ({}, minutes(31), 302),
        ({"remember": "1"}, minutes(5 * 24 * 60 - 1), 200),
        ({"remember": "1"}, minutes(5 * 24 * 60 + 1), 302),
    ],
)
def test_a_session_ends_as_the_settings_say(short, frozen, remember, after, status):
    sign_in(short, **remember)
    frozen.advance(after)
    short.http.get("/account", status=status)


@pytest.mark.control("S03")
def test_a_session_in_use_does_not_end_by_a_short_idle_time_but_by_the_lifetime(short, frozen):
    frozen.set_unix(1_800_000_000 // 3600 * 3600 + minutes(5))  # the use of 12:05 is in the row
    sign_in(short)
    for _ in range(4):
        frozen.advance(minutes(25))
        short.http.get("/account", status=200)
    frozen.advance(minutes(21))
    short.http.get("/account", status=302)


def test_the_cookie_of_a_remembered_session_has_its_lifetime(short):
    answer = sign_in(short, remember="1")
    assert any("Max-Age=432000" in cookie for cookie in answer.headers.getall("Set-Cookie"))


def test_an_idle_session_is_neither_listed_nor_kept(short, frozen):
    sign_in(short)
    frozen.advance(minutes(31))
    headers = bearer(short.login(short.client())["access_token"])
    listed = short.http.get("/v1/user/sessions", headers=headers).json["sessions"]
    assert [item["kind"] for item in listed] == ["app"]
    assert purged(short)["sessions"] == 1


@pytest.mark.parametrize(
    ("remember", "language", "text"),
    [
        ("90d", "en", "Keep me signed in for 90 days"),
        ("12h", "en", "Keep me signed in for 12 hours"),
        ("1d", "de", "1 Tag lang angemeldet bleiben"),
    ],
)
def test_p10_the_box_says_how_long(site_with, remember, language, text):
    site = site_with(session_remember=remember)
    page = site.http.get("/login", headers={"Accept-Language": language}).text
    assert text in page
