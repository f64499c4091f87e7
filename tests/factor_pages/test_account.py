"""Second factors on the account pages: an authenticator app is set up."""

import re
from datetime import timedelta

import pytest
from sqlalchemy import update

from authsite.platform.runtime import clock
from authsite.sign_in.credentials import amr_of
from authsite.sign_in.methods.totp.models import TotpFactor
from authsite.sign_in.sessions.models import BrowserSession
from authsite.users.models import User
from tests.providers.people import without_password
from tests.support.mails import text_of
from tests.support.pages import sign_in, submit

from .people import PAGE, App, begin, confirm, rows, secret_in, section

CODE = re.compile(r"\b([A-Z]{4}-[A-Z]{4})\b")


@pytest.fixture
def site(site_with):
    made = site_with()
    made.ann = made.user(confirmed=True)
    sign_in(made)
    return made


@pytest.fixture
def known(site):
    """Ann's browser has been recognized for a month: it needs no mailed code."""
    long_ago = clock.now() - timedelta(days=30)
    with site.db() as db:
        db.execute(update(User).values(email_verified_at=long_ago))
        db.execute(update(BrowserSession).values(recognized=long_ago))
    return site


class TestSetUp:
    def test_it_begins_on_the_security_page(self, site):
        page = site.http.get("/account/security")
        step = page.click(href="/account/factors/totp$")
        assert step.html.h1.text == "Set up an authenticator app"
        assert step.html.find("label", {"for": "current_password"}).text == "Your password"

    def test_the_first_factor_raises_the_level_and_shows_the_codes_once(self, known):
        page = begin(known)
        shown = confirm(known, page, App(secret_in(page)).code(), asked="true", end_others="true")
        assert shown.html.h1.text == "Save your recovery codes"
        assert len(shown.html.select(".codes li")) == 8
        [session] = rows(known, BrowserSession)
        assert amr_of(session.facts) == ("pwd", "otp")
        assert shown.forms[1]["next"].value == "/account/security"
        assert "8 of 8 codes are left" in section(known, "recovery-codes").text
        assert section(known).find("span", class_="badge").text == "On"
        events = section(known, "activity").text
        assert "Second factor or passkey added" in events

    def test_a_wrong_code_keeps_the_secret(self, known):
        page = begin(known)
        again = confirm(known, page, App(secret_in(page)).wrong())
        assert again.status_int == 422
        assert again.html.find("p", id="code-error")
        assert secret_in(again) == secret_in(page)
        assert confirm(known, again, App(secret_in(again)).code()).status_int == 200

    def test_an_enrollment_that_has_expired_leads_back_to_the_first_step(self, known):
        begin(known)
        answer = submit(known, f"{PAGE}/confirm", page=PAGE, code="123456", enrollment="et_x")
        assert answer.status_int == 422
        assert "Begin again." in answer.html.find(class_="summary").text
        assert answer.html.find("input", id="current_password")
        assert rows(known, TotpFactor) == []

    def test_a_wrong_password_shows_no_secret(self, known):
        answer = submit(known, PAGE, current_password="wrong")
        assert answer.status_int == 422
        assert "otpauth:" not in answer.text
        assert answer.html.find("a", href="#current_password")

    def test_it_leads_on_to_the_page_that_needed_it(self, known):
        page = begin(known, next="/account/access")
        shown = confirm(known, page, App(secret_in(page)).code(), next="/account/access")
        assert shown.forms[1].submit().headers["Location"] == "http://localhost/account/access"

    def test_a_mailed_code_is_asked_for_in_a_browser_that_is_not_known(self, site):
        page = site.http.get(PAGE)
        field = page.html.find("input", id="mail_code")
        assert field["autocomplete"] == "one-time-code"
        missing = begin(site)
        assert missing.status_int == 422
        assert missing.html.find("a", href="#mail_code")
        site.mails()
        sent = submit(site, f"{PAGE}/mail", page=PAGE)
        assert "We have mailed you a code." in sent.text
        code = CODE.search(text_of(site.mails()[-1]))[1]
        wrong = begin(site, mail_code="BCDF-GHJK")
        assert (wrong.status_int, wrong.html.find("p", class_="key")) == (422, None)
        page = begin(site, mail_code=code.lower())
        assert confirm(site, page, App(secret_in(page)).code()).status_int == 200

    def test_without_a_password_the_mailed_code_is_the_proof(self, site):
        without_password(site, site.ann)
        page = site.http.get(PAGE)
        assert page.html.find("input", id="current_password") is None
        site.mails()
        submit(site, f"{PAGE}/mail", page=PAGE)
        code = CODE.search(text_of(site.mails()[-1]))[1]
        page = submit(site, PAGE, mail_code=code)
        assert confirm(site, page, App(secret_in(page)).code()).status_int == 200

    def test_without_a_confirmed_address_it_leads_to_the_confirmation(self, site_with):
        site = site_with()
        site.user()
        sign_in(site)
        page = site.http.get(PAGE)
        assert page.html.find("a", href="/email/link").text == "Confirm your address"
        assert page.html.find("input", id="current_password") is None

    def test_it_names_the_apps_in_which_the_password_was_used(self, known):
        keys = known.client(name="Harbour")
        known.login(keys)
        page = begin(known)
        assert "Harbour" in page.text
        box = page.html.find("input", {"name": "end_others"})
        assert box.has_attr("checked")
        confirm(known, page, App(secret_in(page)).code(), asked="true", end_others="true")
        assert len(rows(known, BrowserSession)) == 1

    def test_other_sign_ins_stay_if_the_box_is_not_ticked(self, known):
        keys = known.client(name="Harbour")
        token = known.login(keys)["access_token"]
        page = begin(known)
        confirm(known, page, App(secret_in(page)).code(), asked="true")
        known.me(token)

    def test_other_sign_ins_end_if_it_is(self, known):
        token = known.login(known.client())["access_token"]
        page = begin(known)
        confirm(known, page, App(secret_in(page)).code(), asked="true", end_others="true")
        known.me(token, status=401)
        known.http.get("/account", status=200)
