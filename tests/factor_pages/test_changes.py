"""Second factors on the account pages: replaced and removed, with their recovery codes."""

import re
from datetime import timedelta

import pytest
from sqlalchemy import update

from authsite.platform.runtime import clock
from authsite.sign_in.credentials import pack
from authsite.sign_in.methods.totp.models import TotpFactor
from authsite.sign_in.sessions.models import BrowserSession
from tests.support.pages import sign_in, submit
from tests.support.site import PASSWORD

from .people import PAGE, App, add_app, begin, confirm, rows, secret_in, section, step_up


@pytest.fixture
def site(site_with):
    made = site_with()
    made.ann = made.user(confirmed=True)
    sign_in(made)
    return made


@pytest.fixture
def enrolled(site):
    """Ann has an authenticator app, and has just given its code."""
    site.phone, site.codes = add_app(site, site.ann)
    step_up(site)
    return site


class TestChanges:
    def test_replacing_makes_the_former_app_useless(self, enrolled):
        page = enrolled.http.get("/account/security").click(href="/account/factors/totp$")
        assert page.html.h1.text == "Replace your authenticator app"
        page = begin(enrolled)
        answer = confirm(enrolled, page, App(secret_in(page)).code())
        assert answer.headers["Location"].endswith("/account/security?done=totp")
        assert len(rows(enrolled, TotpFactor)) == 1
        submit(enrolled, "/logout")
        sign_in(enrolled)
        wrong = submit(enrolled, "/login/factor", method="totp", code=enrolled.phone.code())
        assert wrong.status_int == 422

    def test_removing_asks_for_the_password(self, enrolled):
        wrong = submit(enrolled, f"{PAGE}/remove", page="/account/security", current_password="x")
        assert wrong.status_int == 422
        form = wrong.html.find("form", action=f"{PAGE}/remove")
        assert form.find(class_="summary")
        assert form.find_parent("details").has_attr("open")
        done = submit(
            enrolled, f"{PAGE}/remove", page="/account/security", current_password=PASSWORD
        )
        assert "The authenticator app has been removed." in done.follow().text
        assert rows(enrolled, TotpFactor) == []
        assert section(enrolled, "recovery-codes") is None

    def test_the_last_one_stays_where_the_policy_requires_it(self, site_with):
        site = site_with(second_factor="required")
        ann = site.user(confirmed=True)
        phone, _codes = add_app(site, ann)
        sign_in(site)
        submit(site, "/login/factor", method="totp", code=phone.code())
        answer = submit(site, f"{PAGE}/remove", page="/account/security", current_password=PASSWORD)
        assert answer.status_int == 409
        assert "this is your last one" in answer.html.find(class_="summary").text

    def test_new_codes_are_shown_once_and_end_the_former(self, enrolled):
        form = {"page": "/account/security", "current_password": PASSWORD}
        shown = submit(enrolled, "/account/factors/codes", **form)
        codes = [each.text for each in shown.html.select(".codes li")]
        assert (shown.status_int, len(codes)) == (200, 8)
        assert not set(codes) & set(enrolled.codes)
        submit(enrolled, "/logout")
        sign_in(enrolled)
        for code, status in ((enrolled.codes[0], 422), (codes[0], 303)):
            answer = submit(enrolled, "/login/factor", method="recovery_code", code=code)
            assert answer.status_int == status

    def test_few_codes_are_marked(self, enrolled):
        assert "Few left" not in section(enrolled, "recovery-codes").text
        for code in enrolled.codes[:6]:
            site = enrolled
            submit(site, "/logout")
            sign_in(site)
            submit(site, "/login/factor", method="recovery_code", code=code)
        text = section(enrolled, "recovery-codes").text
        assert "Few left" in text
        assert "2 of 8 codes are left" in text

    def test_remembered_browsers_are_forgotten(self, enrolled):
        site = enrolled
        submit(site, "/logout")
        sign_in(site)
        form = {"method": "totp", "code": site.phone.code(), "remember_browser": "1"}
        submit(site, "/login/factor", **form)
        assert "1 browser is not asked for a second factor." in section(site).text
        done = submit(site, "/account/factors/browsers", page="/account/security")
        assert "No browser is remembered any more." in done.follow().text
        submit(site, "/logout")
        assert sign_in(site).headers["Location"].endswith("/login/factor")

    @pytest.mark.parametrize("facts", ["pwd", "pwd device", "pwd otp"])
    def test_a_sign_in_without_a_recent_factor_gives_it_first(self, enrolled, facts):
        site = enrolled
        with site.db() as db:
            past = clock.now() - timedelta(minutes=11)
            db.execute(update(BrowserSession).values(facts=pack(facts.split()), auth_at=past))
        page = site.http.get("/account/security")
        link = page.html.find("section", {"aria-labelledby": "factors"}).find(
            "a", href=re.compile("^/login/verify")
        )
        assert ("acr_values=aal2" in link["href"]) == (facts != "pwd otp")
        assert "max_age=600" in link["href"]
        form = {"current_password": PASSWORD}
        for path in (PAGE, f"{PAGE}/remove", "/account/factors/codes"):
            answer = submit(site, path, page="/account/security", **form)
            assert answer.status_int == 303
            assert "/login/verify?" in answer.headers["Location"]
        assert len(rows(site, TotpFactor)) == 1


@pytest.mark.parametrize(
    "path",
    [
        PAGE,
        f"{PAGE}/confirm",
        f"{PAGE}/mail",
        f"{PAGE}/remove",
        "/account/factors/codes",
        "/account/factors/browsers",
        "/account/factors/after-password",
        "/account/factors/later",
        "/account/factors/passkeys",
        "/account/factors/passkeys/mail",
        "/account/factors/passkeys/add",
    ],
)
def test_every_form_needs_its_token_and_a_session(enrolled, path):
    form = {"current_password": PASSWORD, "after_password": "true", "code": "123456"}
    assert enrolled.http.post(path, form, status="4*").status_int == 403
    assert len(rows(enrolled, TotpFactor)) == 1
    enrolled.new_browser()
    answer = enrolled.http.get(path, status=302)
    assert answer.headers["Location"].startswith("http://localhost/login?")


def test_the_switch_needs_a_passkey(site):
    form = {"page": "/account/security", "current_password": PASSWORD, "after_password": "true"}
    answer = submit(site, "/account/factors/after-password", **form)
    assert answer.status_int == 409
    assert "no second factor" in answer.text
