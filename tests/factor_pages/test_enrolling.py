"""A sign-in that must add a second factor, since the policy requires one."""

import re
from datetime import timedelta
from uuid import uuid4

import pyotp
import pytest
from sqlalchemy import select, update

from authsite.platform.runtime import clock
from authsite.sign_in import gate
from authsite.sign_in.credentials import amr_of
from authsite.sign_in.pending import PendingLogin
from authsite.sign_in.sessions import service
from authsite.sign_in.sessions.models import BrowserSession
from authsite.users.account import account_of
from authsite.users.models import User
from tests.support.acting import acting
from tests.support.factors import passkey_row
from tests.support.pages import hidden_in, sign_in, submit

FACTOR = "http://localhost/login/factor"


@pytest.fixture
def site(site_with):
    made = site_with(second_factor="required")
    made.ann = made.user(confirmed=True)
    return made


def begin(site, **fields):
    """The page that sets a factor up, of a login whose mailed code was right."""
    answer = sign_in(site, **fields)
    assert answer.headers["Location"] == FACTOR
    with site.db() as db:
        db.execute(update(PendingLogin).values(amr="pwd email"))
    return site.http.get("/login/factor")


def secret_in(page):
    return page.html.find("p", class_="key").text.replace(" ", "")


def confirm(site, page, code, **fields):
    fields["enrollment"] = hidden_in(page, "enrollment")
    return submit(site, "/login/factor", method="totp", code=code, **fields)


def now(secret):
    return pyotp.TOTP(secret).at(clock.now())


def sessions(site):
    with site.db() as db:
        return db.scalars(select(BrowserSession)).all()


def test_the_page_shows_the_secret_in_three_ways_and_needs_no_script(site):
    page = begin(site)
    assert page.html.h1.text == "Set up a second factor"
    shown = page.html.find("p", class_="key").text
    assert all(len(part) == 4 for part in shown.split(" "))
    secret = secret_in(page)
    assert len(secret) == 32
    uri = page.html.find("a", href=re.compile("^otpauth://totp/"))["href"]
    assert f"secret={secret}" in uri
    picture = page.html.find("div", class_="qr")
    assert picture.svg is not None
    assert picture["role"] == "img"
    assert picture["aria-label"]
    assert "style=" not in str(picture)
    field = page.html.find("input", {"name": "code"})
    assert field["autocomplete"] == "one-time-code"


def test_its_code_begins_the_session_and_shows_the_recovery_codes_once(site):
    page = begin(site, next="/account/access", remember="1")
    shown = confirm(site, page, now(secret_in(page)))
    assert shown.status_int == 200
    assert shown.html.h1.text == "Save your recovery codes"
    codes = [each.text for each in shown.html.select(".codes li")]
    assert len(codes) == 8
    assert len(set(codes)) == 8
    [session] = sessions(site)
    assert (amr_of(session.facts), session.remember) == (("pwd", "email", "otp"), True)
    form = shown.forms[1]
    form["saved"] = True
    assert form.submit().headers["Location"] == "http://localhost/account/access"
    site.http.get("/account/access", status=200)
    assert codes[0] not in site.http.get("/account/security").text
    submit(site, "/logout")
    sign_in(site)
    answer = submit(site, "/login/factor", method="recovery_code", code=codes[0])
    assert answer.headers["Location"] == "http://localhost/account"


def test_after_a_wrong_code_the_secret_is_the_same(site):
    page = begin(site)
    secret = secret_in(page)
    again = confirm(site, page, "000000" if now(secret) != "000000" else "111111")
    assert again.status_int == 422
    assert "This code is not right" in again.html.find("p", id="code-error").text
    assert secret_in(again) == secret
    assert confirm(site, again, now(secret)).status_int == 200


def test_an_empty_code_is_told_at_its_field(site):
    page = begin(site)
    again = confirm(site, page, "")
    assert again.status_int == 422
    assert "Enter the 6-digit code from the app." in again.html.find("p", id="code-error").text
    assert secret_in(again) == secret_in(page)


def test_an_enrollment_of_another_login_adds_nothing(site):
    page = begin(site)
    secret = secret_in(page)
    site.new_browser()
    begin(site)
    answer = confirm(site, page, now(secret))
    assert answer.status_int == 422
    assert sessions(site) == []


def test_an_enrollment_serves_once(site):
    page = begin(site)
    secret = secret_in(page)
    kept = site.http.cookies["authsite-login"]
    confirm(site, page, now(secret))
    site.new_browser()
    site.http.set_cookie("authsite-login", kept)
    fields = {"method": "totp", "code": now(secret), "enrollment": hidden_in(page, "enrollment")}
    answer = submit(site, "/login/factor", page="/login", **fields)
    assert answer.status_int == 403
    assert len(sessions(site)) == 1


def test_other_sign_ins_end(site):
    with site.db() as db:
        ctx = acting(db, site.app.registry["authsite"])
        account = account_of(db.get(User, site.ann.id))
        former = service.begin(ctx, gate.without_proof(account), remember=False)
    page = begin(site)
    confirm(site, page, now(secret_in(page)))
    site.http.get("/account", status=200)
    site.new_browser()
    site.http.set_cookie("authsite", former)
    assert site.http.get("/account").headers["Location"].startswith("http://localhost/login?")


def test_with_twenty_passkeys_of_another_domain_an_app_can_be_added(site):
    with site.db() as db:
        db.add_all([passkey_row(site.ann.id, uuid4(), rp_id="old.example") for _ in range(20)])
    page = begin(site)
    secret = secret_in(page)
    assert confirm(site, page, now(secret)).status_int == 303
    assert len(sessions(site)) == 1


def test_where_nothing_can_be_added_the_page_says_so(site_with):
    site = site_with(second_factor="required", factors="passkey", base_url="https://192.0.2.7")
    site.user(confirmed=True)
    sign_in(site)
    with site.db() as db:
        db.execute(update(PendingLogin).values(amr="pwd email"))
    assert (
        "Ask the people who run this site." in site.http.get("https://192.0.2.7/login/factor").text
    )


class TestBeforeTheDay:
    def day(self, days):
        return (clock.now() + timedelta(days=days)).date().isoformat()

    def test_the_account_pages_say_it_until_later(self, site_with):
        site = site_with(second_factor="required", second_factor_from=self.day(5))
        site.user(confirmed=True)
        assert sign_in(site).headers["Location"] == "http://localhost/account"
        page = site.http.get("/account/access")
        notice = page.html.find("section", {"aria-labelledby": "factor-day"})
        assert notice.find("a")["href"] == "/account/factors"
        page = site.http.get(notice.find("a")["href"])
        assert page.html.h1.text == "Set up a second factor"
        answer = submit(site, "/account/factors/later", page="/account", next="/account/access")
        assert answer.headers["Location"] == "http://localhost/account/access"
        for path in ("/account", "/account/access"):
            assert site.http.get(path).html.find(id="factor-day") is None

    @pytest.mark.parametrize(
        "settings",
        [{}, {"second_factor": "optional"}, {"second_factor_from": "2026-01-31"}],
    )
    def test_no_one_is_told_where_nothing_will_be_required(self, site_with, settings):
        site = site_with(**settings)
        site.user(confirmed=True)
        sign_in(site)
        assert site.http.get("/account").html.find(id="factor-day") is None

    def test_a_user_with_a_factor_is_not_told(self, site_with):
        site = site_with(second_factor="required", second_factor_from=self.day(5))
        site.user(confirmed=True)
        sign_in(site)
        with site.db() as db:
            db.execute(update(User).values(second_factor_at=clock.now()))
        assert site.http.get("/account").html.find(id="factor-day") is None
