"""Forward auth with `cookies=1`: which cookies the proxy passes on to the application."""

import pytest

from authsite.testing import bearer_token, session_cookie
from tests.support.site import bearer

API, WEB = "/v1/guard/api", "/v1/guard/web"
FOREIGN = "theme=dark; __Host-session=1"
SETTINGS = {
    "one host": {},
    "a domain": {"base_url": "http://auth.example.org", "session_cookie_domain": "example.org"},
}


@pytest.fixture(params=SETTINGS.values(), ids=SETTINGS)
def site(request, site_with):
    return site_with(**request.param)


@pytest.fixture
def session(site):
    """The session of Ann in the form of a Cookie header."""
    return "=".join(session_cookie(site.app, "ann@example.com"))


@pytest.mark.parametrize(
    "query", ["cookies=1", "cookies=true", "verified=1&cookies=1", "cookies=1&redirect=1"]
)
def test_the_answer_has_what_is_not_ours(site, session, query):
    for sent, left in (
        (f"{FOREIGN}; {session}; device=d", FOREIGN),
        (f"{session}; authsite-csrf=c", ""),
    ):
        headers = {"Cookie": sent}
        answer = site.http.get(f"{WEB}?{query}", headers=headers, status=204)
        assert answer.headers.getall("Cookie") == [left]


@pytest.mark.parametrize("query", ["cookies=1", "scope=a&cookies=1&verified=1"])
def test_with_a_token_as_well(site, session, query):
    headers = bearer(bearer_token(site.app, "bo@example.com", "a"))
    for sent, left in (({"Cookie": f"{session}; {FOREIGN}"}, FOREIGN), ({}, "")):
        answer = site.http.get(f"{API}?{query}", headers=headers | sent, status=204)
        assert answer.headers.getall("Cookie") == [left]


def test_without_the_parameter_there_is_no_such_header(site, session):
    headers = {"Cookie": f"{session}; {FOREIGN}"}
    assert "Cookie" not in site.http.get(WEB, headers=headers, status=204).headers


@pytest.mark.parametrize("path", [API, WEB])
@pytest.mark.parametrize("query", ["cookies", "cookies=", "cookies=0", "cookies=1&cookies=1"])
def test_any_other_value_is_an_error_before_anything_else(site, path, query):
    headers = bearer(bearer_token(site.app, "bo@example.com")) if path == API else {}
    assert site.http.get(f"{path}?{query}", headers=headers, status=400)


def test_a_refusal_names_no_cookies(site):
    answer = site.http.get(f"{WEB}?cookies=1", headers={"Cookie": FOREIGN}, status=401)
    assert "Cookie" not in answer.headers
    answer = site.http.get(f"{API}?cookies=1", headers={"Cookie": FOREIGN}, status=401)
    assert "Cookie" not in answer.headers


def test_bytes_that_are_not_ascii_stay_as_they_are(site, session):
    headers = {"Cookie": f"a=\xe9\xff; {session}"}
    answer = site.http.get(f"{WEB}?cookies=1", headers=headers, status=204)
    assert answer.headers["Cookie"] == "a=\xe9\xff"
