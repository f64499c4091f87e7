"""What a person with a linked provider and a second factor has proved, and what is counted when."""

import pytest
from structlog.testing import capture_logs

from tests.factor_pages.people import add_app
from tests.step_up.people import (
    asked_at,
    enter,
    fields,
    give,
    mailed_code,
    proved,
    routes,
    without_password,
)
from tests.support.identities import linked
from tests.support.pages import csrf_of, sign_in
from tests.support.site import PASSWORD

from .people import come_back, identities, signed_in_as
from .test_linking import confirm, unlink

EMAIL = "ann@gmail.com"


def with_identity(site, fake):
    """The site, with a confirmed user to whom the person of the provider belongs."""
    site.ann = site.user(EMAIL, confirmed=True)
    with site.db() as db:
        linked(db, site.ann.id, issuer=fake.issuer, subject=fake.subject, email=EMAIL)
    return site


@pytest.fixture
def host(host_of, google):
    return with_identity(host_of(routes, google), google)


def lines_of_limits(logs):
    return [each["event"] for each in logs if each["event"].startswith("limits_")]


@pytest.mark.parametrize("amr", [("pwd",), ("pwd", "device")])
def test_a_confirmation_at_the_provider_is_no_recent_sign_in_without_the_factor(
    host, google, frozen, amr
):
    phone, _codes = add_app(host, host.ann)
    enter(host, *amr, email=EMAIL)
    frozen.advance(601)
    before = proved(host)
    assert fields(asked_at(host, "/recent")) == {"current_password", "code"}
    google.claims["auth_time"] = int(frozen.at.timestamp())
    assert confirm(host, google).status_int == 303
    assert proved(host) == before
    page = asked_at(host, "/recent")
    give(page, current_password=PASSWORD, code=phone.code())
    assert host.http.get("/recent").text == f"hello {EMAIL}"


def test_after_the_provider_the_page_still_knows_what_it_asks_for(host, google, frozen):
    enter(host, "idp", email=EMAIL)
    without_password(host, host.ann)
    frozen.advance(601)
    page = asked_at(host, "/recent")
    form = next(each for each in page.forms.values() if "/login/with/" in each.action)
    there = form.submit(status=200).html.select_one("a.button.primary")["href"]
    google.claims["auth_time"] = int(frozen.at.timestamp())
    back = host.http.get(google.authorize(there), status=303)
    assert "max_age=600" in back.location
    assert "next=%2Frecent" in back.location
    while back.status_int in (302, 303):
        back = back.follow(status="*")
    assert back.text == f"hello {EMAIL}"


def test_a_sign_in_that_waits_ends_with_the_identity_that_it_began_with(site_of, google):
    site = with_identity(site_of(google), google)
    phone, _codes = add_app(site, site.ann)
    assert come_back(site, google).location.endswith("/login/factor")
    waiting = dict(site.http.cookies)
    site.new_browser()
    sign_in(site, EMAIL)
    page = site.http.get("/login/factor")
    given = {"csrf_token": csrf_of(page), "method": "totp", "code": phone.code()}
    site.http.post("/login/factor", given, status=303)
    unlink(site, identities(site)[0], current_password=PASSWORD)
    assert identities(site) == []
    site.new_browser()
    for name, value in waiting.items():
        site.http.set_cookie(name, value)
    assert "took too long" in site.http.get("/login/factor", status=403).text
    assert not signed_in_as(site)


def test_limits_are_counted_before_a_sign_in_with_a_provider_writes(site_of, google):
    """On SQLite they would wait for this transaction, and then be counted in memory alone."""
    site = with_identity(site_of(google, limits="on"), google)
    sign_in(site, EMAIL)
    with capture_logs() as logs:
        for address in ("127.0.0.1", "198.51.100.7"):
            site.new_browser()
            site.http.extra_environ["REMOTE_ADDR"] = address
            assert come_back(site, google).status_int == 303
    assert lines_of_limits(logs) == []


@pytest.mark.parametrize(
    ("path", "more"),
    [
        ("/account/email", {"email": "new@example.org"}),
        ("/account/export", {}),
        ("/account/password", {"password": "purple wolf 77 tea"}),
    ],
)
def test_limits_are_counted_before_a_mailed_code_is_used_up(host_with, path, more):
    site = host_with(routes, limits="on", email_sign_in="on")
    site.ann = site.user(confirmed=True)
    enter(site, "email")
    without_password(site, site.ann)
    page = site.http.get("/login/verify?max_age=0")
    next(each for each in page.forms.values() if each.action.endswith("/mail")).submit(status=303)
    given = {"csrf_token": csrf_of(site.http.get("/account/security")), **more}
    with capture_logs() as logs:
        wrong = site.http.post(path, {**given, "mail_code": "BBBB-BBBB"}, status=422)
        assert "code" in wrong.text
        answer = site.http.post(path, {**given, "mail_code": mailed_code(site)}, status="*")
    assert answer.status_int in (200, 303)
    assert lines_of_limits(logs) == []
