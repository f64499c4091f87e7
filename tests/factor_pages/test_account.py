"""Second factors on the account pages: set up, replaced, removed, with their recovery codes."""

import re
from datetime import timedelta

import pytest
from sqlalchemy import select, update

from authsite.platform.runtime import clock
from authsite.sign_in.facts import amr_of, pack
from authsite.sign_in.methods.totp.models import TotpFactor
from authsite.sign_in.sessions.models import BrowserSession
from authsite.users.models import User
from tests.providers.people import without_password
from tests.support.mails import text_of
from tests.support.pages import hidden_in, sign_in, submit
from tests.support.site import PASSWORD

from .people import App, add_app

PAGE = "/account/factors/totp"
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


@pytest.fixture
def enrolled(site):
    """Ann has an authenticator app, and has just given its code."""
    site.phone, site.codes = add_app(site, site.ann)
    step_up(site)
    return site


def step_up(site):
    with site.db() as db:
        db.execute(update(BrowserSession).values(facts=pack(("pwd", "otp")), auth_at=clock.now()))


def begin(site, **fields):
    """The second step: the page with the secret."""
    return submit(site, PAGE, current_password=PASSWORD, **fields)


def secret_in(page):
    return page.html.find("p", class_="key").text.replace(" ", "")


def confirm(site, page, code, **fields):
    fields["enrollment"] = hidden_in(page, "enrollment")
    return submit(site, f"{PAGE}/confirm", page=PAGE, code=code, **fields)


def rows(site, model):
    with site.db() as db:
        return db.scalars(select(model)).all()


def section(site, heading="factors"):
    page = site.http.get("/account/security")
    return page.html.find("section", {"aria-labelledby": heading})


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
        assert "8 codes of 8 are left" in section(known, "recovery-codes").text
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
        assert "2 codes of 8 are left" in text

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
