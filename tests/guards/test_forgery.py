"""Forged forms, foreign origins, framing: nothing happens, and nothing typed is lost."""

import pytest

from tests.support.pages import csrf_of, sign_in, submit
from tests.support.site import PASSWORD

FORMS = {
    "/login": {"username": "ann@example.com", "password": PASSWORD},
    "/register": {"email": "bo@example.com", "password": "purple wolf 77 tea"},
    "/password/forgot": {"email": "ann@example.com"},
    "/password/reset": {"email": "ann@example.com", "token": "x" * 64, "password": "wolf tea 7788"},
    "/email/verify": {"url": "http://localhost/v1/email/verify/x"},
    "/email/change/cancel": {"token": "x"},
    "/email/change/revert": {"token": "x"},
}
ACCOUNT_FORMS = {
    "/logout": {},
    "/account/profile": {"name": "Mallory"},
    "/account/email": {"email": "mallory@example.com", "current_password": PASSWORD},
    "/account/email/resend": {},
    "/account/export": {"current_password": PASSWORD},
    "/account/email/cancel": {},
    "/account/password": {"current_password": PASSWORD, "password": "purple wolf 77 tea"},
    "/account/sessions/end-others": {},
    "/account/delete": {"current_password": PASSWORD},
}
FOREIGN = [
    {"Origin": "https://evil.example"},
    {"Origin": "http://evil.example"},
    {"Origin": "null"},
    {"Origin": "http://localhost.evil.example"},
    {"Origin": "http://localhost:81"},
    {"Origin": "https://localhost"},
    {"Sec-Fetch-Site": "cross-site"},
    {"Sec-Fetch-Site": "same-site"},
]


@pytest.fixture
def signed_in(site):
    site.user()
    sign_in(site)
    return site


def state(site):
    """Everything a form could change."""
    return site.events(), len(site.families())


@pytest.mark.control("S04")
@pytest.mark.parametrize("path", FORMS)
@pytest.mark.parametrize("token", [None, "", "0" * 64, "no hex", "é"])
def test_an_open_form_without_its_token_does_nothing(site, path, token):
    site.user()
    before = state(site)
    fields = FORMS[path] | ({} if token is None else {"csrf_token": token})
    answer = site.http.post(path, fields, status=403)
    if not path.startswith("/email/"):  # these have nothing to send again for a wrong link
        assert "did not send back our cookie" in answer.text
    assert state(site) == before


@pytest.mark.control("S04")
@pytest.mark.parametrize("path", ACCOUNT_FORMS)
def test_a_form_of_the_account_without_its_token_does_nothing(signed_in, path):
    before = state(signed_in)
    signed_in.http.post(path, ACCOUNT_FORMS[path], status=403)
    assert state(signed_in) == before
    signed_in.http.get("/account", status=200)


@pytest.mark.control("S04")
@pytest.mark.parametrize("headers", FOREIGN)
@pytest.mark.parametrize("path", ["/login", "/register"])
def test_a_right_token_from_a_foreign_origin_does_nothing(site, path, headers):
    site.user()
    before = state(site)
    assert submit(site, path, headers=headers, **FORMS[path]).status_int == 403
    assert state(site) == before


@pytest.mark.control("S04")
@pytest.mark.parametrize("headers", FOREIGN)
def test_a_foreign_origin_cannot_use_the_account_either(signed_in, headers):
    token = csrf_of(signed_in.http.get("/account"))
    form = {"csrf_token": token, **ACCOUNT_FORMS["/account/delete"]}
    signed_in.http.post("/account/delete", form, headers=headers, status=403)
    signed_in.http.get("/account", status=200)


@pytest.mark.control("S04")
@pytest.mark.parametrize(
    ("origin", "status"), [("https://id.example.org", 303), ("http://id.example.org", 403)]
)
def test_behind_a_proxy_that_ends_tls_the_origin_is_checked_against_the_real_scheme(
    site_with, origin, status
):
    site = site_with(trusted_proxies="192.0.2.1")
    site.user()
    proxied = {"X-Forwarded-Proto": "https", "X-Forwarded-Host": "id.example.org"}
    page = site.http.get("/login", headers=proxied)
    cookie = page.headers["Set-Cookie"].split(";")[0]
    form = {"csrf_token": csrf_of(page), **FORMS["/login"]}
    headers = {**proxied, "Origin": origin, "Cookie": cookie}
    site.http.post("/login", form, headers=headers, status=status)


@pytest.mark.control("S04")
def test_the_token_of_another_browser_is_no_good(site):
    site.user()
    token = csrf_of(site.http.get("/login"))
    site.http.reset()
    site.http.get("/login")
    site.http.post("/login", {"csrf_token": token, **FORMS["/login"]}, status=403)


def test_a_refused_form_sets_the_csrf_cookie_once(site):
    """Trial 23: of two cookies in one answer the form would fit only the last."""
    answer = site.http.post("/login", FORMS["/login"], status=403)
    assert len(answer.headers.getall("Set-Cookie")) == 1
    token = csrf_of(answer)
    assert site.http.post("/login", {"csrf_token": token, **FORMS["/login"]}, status="*")
    assert csrf_of(site.http.get("/login")) == token


@pytest.mark.parametrize(("length", "kept"), [(1, True), (64, True), (65, False), (4000, False)])
def test_a_csrf_cookie_that_is_longer_than_ours_is_replaced(site, length, kept):
    site.http.set_cookie("authsite-csrf", "a" * length)
    site.http.get("/login")
    value = site.http.cookies["authsite-csrf"].strip('"')
    assert (value == "a" * length) == kept
    assert kept or len(value) == 22  # 128 random bits


def test_what_was_typed_into_an_expired_form_is_still_there(site):
    answer = site.http.post("/login", {**FORMS["/login"], "csrf_token": "0" * 64}, status=403)
    assert 'value="ann@example.com"' in answer.text
    assert PASSWORD not in answer.text
    again = site.http.post(
        "/register", {**FORMS["/register"], "name": "Bo", "csrf_token": ""}, status=403
    )
    assert 'value="bo@example.com"' in again.text
    assert 'value="Bo"' in again.text


def test_sending_a_form_twice_registers_once_and_says_so(site):
    assert submit(site, "/register", **FORMS["/register"]).status_int == 303
    again = submit(site, "/register", **FORMS["/register"])
    assert again.status_int == 422
    assert site.events().count("user.created") == 1


@pytest.mark.parametrize("path", ["/", "/login", "/register", "/nope", "/v1/user", "/email/verify"])
def test_no_answer_may_be_framed(site, path):
    answer = site.http.get(path, status="*")
    assert "frame-ancestors 'none'" in answer.headers["Content-Security-Policy"]
    assert answer.headers["X-Frame-Options"] == "DENY"
