"""Faults: the database away, no room for a hash, a bug. What the caller is told, and is not."""

import pytest

from authsite.platform.runtime import clock
from tests.http.test_errors import LOGIN, MACHINE, TOKEN, json_error, no_store, oauth
from tests.support.site import PASSWORD, Site, bearer
from tests.support.statements import fail_all, fail_commits

BUSY = "The service is busy. Try again in a moment."
FULL = "Too many logins at once. Try again in 2 seconds."


@pytest.fixture
def keys(site):
    site.user()
    return site.client()


def busy(answer, make, text=BUSY):
    """503 in the body of its part of the site, with a time to come back."""
    assert no_store(answer).json == make("temporarily_unavailable", text)
    assert int(answer.headers["Retry-After"]) > 0
    assert "WWW-Authenticate" not in answer.headers


@pytest.mark.control("D02")
def test_storage_that_is_away_is_503_and_never_401_or_invalid_grant(site, keys, monkeypatch):
    tokens = site.login(keys)
    headers = bearer(tokens["access_token"])
    refresh = {"grant_type": "refresh_token", "refresh_token": tokens["refresh_token"]}
    fail_all(monkeypatch, site.database)
    for form in (LOGIN, MACHINE, refresh):
        busy(site.token(keys, 503, **form), oauth)
    for method, path in (("GET", "/v1/user"), ("DELETE", "/v1/logout")):
        busy(site.http.request(path, method=method, headers=headers, status=503), json_error)
    monkeypatch.undo()
    site.me(tokens["access_token"])
    site.refresh(keys, tokens["refresh_token"])


@pytest.mark.control("D02")
@pytest.mark.parametrize("password", [PASSWORD, "wrong"])
def test_a_commit_that_fails_is_503_and_leaves_a_service_that_works(
    site, keys, monkeypatch, password
):
    fail_commits(monkeypatch, site.database)
    for _ in range(3):
        busy(site.token(keys, 503, **LOGIN | {"password": password}), oauth)
    monkeypatch.undo()
    assert site.families() == []
    site.me(site.login(keys)["access_token"])


@pytest.mark.control("P09")
def test_without_room_for_another_hash_a_login_is_503_whether_it_was_right_or_wrong(site, keys):
    full = Site(site.url)
    full.app.registry["authsite"].passwords.pool.close()  # refuses as a full queue does
    try:
        for name, password in ((LOGIN["username"], PASSWORD), ("x@example.com", "wrong")):
            form = LOGIN | {"username": name, "password": password}
            busy(full.token(keys, 503, **form), oauth, FULL)
        form = {"email": "bo@example.com", "password": "purple wolf 77 tea"}
        busy(full.http.post("/v1/register", form, status=503), json_error, FULL)
    finally:
        full.database.dispose()


@pytest.mark.control("S15")
@pytest.mark.parametrize(("path", "make"), [(TOKEN, oauth), ("/v1/register", json_error)])
def test_a_bug_is_500_with_the_request_id_and_nothing_of_the_inside(
    site, keys, path, make, monkeypatch
):
    def broken():
        raise ZeroDivisionError("the inside, with a secret")

    monkeypatch.setattr(clock, "now", broken)
    form = keys.form(email="bo@example.com", **LOGIN)
    answer = site.http.post(path, form, status=500)
    text = "Something went wrong on our side. Try again, and report it if it keeps happening."
    expected = make("internal_error", text) | {"request_id": answer.headers["X-Request-Id"]}
    assert no_store(answer).json == expected
