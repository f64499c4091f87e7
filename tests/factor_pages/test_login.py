"""The page that asks for a second factor after the password."""

import pytest
from sqlalchemy import select, update

from authsite.admin.guard import COMMAND
from authsite.admin.users import actions
from authsite.platform.audit.models import AuditEvent
from authsite.sign_in.credentials import amr_of
from authsite.sign_in.sessions.models import BrowserSession
from authsite.users.models import User
from tests.support.acting import acting
from tests.support.pages import csrf_of, sign_in, submit
from tests.support.site import PASSWORD, Site

from .people import add_app

FACTOR = "http://localhost/login/factor"


@pytest.fixture
def site(site_with):
    made = site_with(limits="on")
    made.ann = made.user(confirmed=True)
    made.phone, made.codes = add_app(made, made.ann)
    return made


def begin(site, **fields):
    """Give the right password; the page that asks for the second factor."""
    answer = sign_in(site, **fields)
    assert answer.headers["Location"] == FACTOR
    return site.http.get("/login/factor")


def give(site, method="totp", **fields):
    return submit(site, "/login/factor", method=method, **fields)


def sessions(site):
    with site.db() as db:
        return db.scalars(select(BrowserSession)).all()


def test_the_app_is_asked_for_and_its_code_begins_the_session(site):
    page = begin(site, remember="1", next="/account/security")
    field = page.html.find("input", {"name": "code"})
    assert (field["autocomplete"], field["inputmode"]) == ("one-time-code", "numeric")
    assert page.html.find("label", {"for": field["id"]}).text == "Code from your authenticator app"
    assert "ann@example.com" in page.html.find("p", class_="lead").text
    assert sessions(site) == []
    answer = give(site, code=site.phone.code())
    assert answer.headers["Location"] == "http://localhost/account/security"
    [session] = sessions(site)
    assert (amr_of(session.facts), session.remember) == (("pwd", "otp"), True)
    assert "authsite-login" not in site.http.cookies
    with site.db() as db:
        begun = db.scalars(select(AuditEvent).filter_by(event="session.begun")).one()
    assert begun.details == {"session": str(session.id), "amr": "pwd otp"}


def test_another_way_is_one_link_away(site):
    page = begin(site)
    other = page.click("Use a recovery code")
    assert other.html.find("input", {"name": "code"})["autocomplete"] == "off"
    assert other.html.find("label", {"for": "code"}).text == "Recovery code"
    answer = give(site, "recovery_code", code=site.codes[0].lower().replace("-", " "))
    assert answer.headers["Location"] == "http://localhost/account"
    [session] = sessions(site)
    assert amr_of(session.facts) == ("pwd", "recovery")


@pytest.mark.parametrize(
    ("code", "message"),
    [
        ("", "Enter the 6-digit code from the app."),
        ("wrong", "This code is not right. Enter the one that the app shows now."),
    ],
)
def test_a_mistake_is_told_at_the_field_and_above_the_form(site, code, message):
    begin(site)
    answer = give(site, code=code and site.phone.wrong())
    assert answer.status_int == 422
    assert answer.html.find("p", id="code-error").text.strip().endswith(message)
    summary = answer.html.find(class_="summary")
    assert summary.find("a", href="#code").text == message
    assert answer.html.title.text.startswith("Error: Enter your code")
    assert give(site, code=site.phone.code()).status_int == 303


def test_a_code_serves_once_and_the_page_says_so(site):
    code = site.phone.code()
    begin(site)
    assert give(site, code=code).status_int == 303
    site.new_browser()
    begin(site)
    answer = give(site, code=code)
    assert answer.status_int == 422
    assert "This code was used already." in answer.text


def test_a_wrong_recovery_code_is_asked_for_again(site):
    begin(site)
    answer = give(site, "recovery_code", code="0000-0000-0000-0000-0000-0000")
    assert answer.status_int == 422
    assert "This code is not right or was already used." in answer.text
    assert answer.html.find("label", {"for": "code"}).text == "Recovery code"


def test_of_a_used_recovery_code_the_page_says_nothing_about_an_app(site):
    for _ in range(2):
        site.new_browser()
        begin(site)
        answer = give(site, "recovery_code", code=site.codes[0])
    assert answer.status_int == 422
    assert "This code is not right or was already used. Enter another one." in answer.text
    assert "the app shows" not in answer.text


def test_after_five_wrong_codes_the_sign_in_begins_anew(site_with):
    site = site_with()
    phone, _codes = add_app(site, site.user(confirmed=True))
    begin(site)
    for _ in range(5):
        answer = give(site, code=phone.wrong())
    assert answer.html.h1.text == "Sign in again"
    form = {"method": "totp", "code": phone.code(), "csrf_token": csrf_of(site.http.get("/login"))}
    answer = site.http.post("/login/factor", form, status=403)
    assert answer.html.h1.text == "Sign in again"
    assert sessions(site) == []
    answer.click("Sign in")


def test_without_a_login_the_page_leads_to_the_login(site):
    answer = site.http.get("/login/factor", status=303)
    assert answer.headers["Location"] == "http://localhost/login"
    page = site.http.get("/login")
    form = {"method": "totp", "code": site.phone.code(), "csrf_token": csrf_of(page)}
    assert site.http.post("/login/factor", form, status=403).html.h1.text == "Sign in again"


@pytest.mark.parametrize("method", ["password", "email", "passkey", "word", "x" * 65, ""])
def test_a_method_that_is_not_asked_for_opens_nothing(site, method):
    begin(site)
    answer = give(site, method, code=site.phone.present(), credential="{}")
    assert answer.status_int in (403, 422)
    assert sessions(site) == []
    assert give(site, code=site.phone.code()).status_int == 303


def test_a_form_without_its_token_is_refused(site):
    begin(site)
    form = {"method": "totp", "code": site.phone.code()}
    assert site.http.post("/login/factor", form, status=403)
    assert sessions(site) == []


class TestRememberedBrowser:
    def remember(self, site):
        begin(site)
        answer = give(site, code=site.phone.code(), remember_browser="1")
        assert answer.status_int == 303
        return answer

    def test_the_box_is_not_ticked_and_without_it_nothing_is_remembered(self, site):
        page = begin(site)
        assert not page.html.find("input", {"name": "remember_browser"}).has_attr("checked")
        give(site, code=site.phone.code())
        assert "authsite-factor" not in site.http.cookies
        submit(site, "/logout")
        begin(site)

    def test_it_is_not_asked_again(self, site):
        [cookie] = [
            each
            for each in self.remember(site).headers.getall("Set-Cookie")
            if each.startswith("authsite-factor=")
        ]
        assert {"HttpOnly", "SameSite=Lax", "Max-Age=2592000"} <= set(cookie.split("; "))
        submit(site, "/logout")
        answer = sign_in(site)
        assert answer.headers["Location"] == "http://localhost/account"
        assert {amr_of(each.facts) for each in sessions(site)} == {("pwd", "device")}

    @pytest.mark.parametrize("end", ["owner", "administrator"])
    def test_it_is_asked_again_after_all_sign_ins_were_ended(self, site, end):
        self.remember(site)
        with site.db() as db:
            [ann] = db.query(User).all()
        if end == "owner":
            own = Site(site.url)
            begin(own)
            give(own, code=site.phone.code())
            done = submit(own, "/account/sessions/end-others", page="/account/security")
            assert done.status_int == 303
            own.database.dispose()
        else:
            with site.db() as db:
                user = db.get(User, ann.id)
                actions.sign_out(acting(db, site.app.registry["authsite"]), COMMAND, user)
        site.http.get("/logout", status="*")
        begin(site)

    def test_it_is_asked_again_after_a_change_of_the_factors_and_in_another_account(self, site):
        self.remember(site)
        submit(site, "/logout")
        bob = site.user("bob@example.com", confirmed=True)
        add_app(site, bob)
        begin(site, username="bob@example.com")
        with site.db() as db:
            db.execute(update(User).values(factor_version=User.factor_version + 1))
        begin(site)

    def test_on_https_no_other_host_can_set_the_cookie(self, site_with):
        site = site_with(base_url="https://auth.example.com")
        phone, _codes = add_app(site, site.user(confirmed=True))
        sign_in(site)
        answer = submit(
            site, "/login/factor", method="totp", code=phone.code(), remember_browser="1"
        )
        cookies = answer.headers.getall("Set-Cookie")
        [cookie] = [each for each in cookies if "authsite-factor" in each]
        assert cookie.startswith("__Host-authsite-factor=")
        assert "; secure" in cookie.lower()

    def test_it_is_not_offered_where_it_is_off_nor_to_administrators(self, site_with):
        site = site_with(remember_factor="0")
        phone, _codes = add_app(site, site.user(confirmed=True))
        page = begin(site)
        assert page.html.find("input", {"name": "remember_browser"}) is None
        give(site, code=phone.code(), remember_browser="1")
        assert "authsite-factor" not in site.http.cookies

    def test_an_administrator_is_asked_every_time(self, site):
        with site.db() as db:
            db.execute(update(User).values(labels="authsite:admin"))
        page = begin(site)
        assert page.html.find("input", {"name": "remember_browser"}) is None
        give(site, code=site.phone.code(), remember_browser="1")
        assert "authsite-factor" not in site.http.cookies

    def test_whoever_becomes_an_administrator_is_asked_again(self, site):
        begin(site)
        give(site, code=site.phone.code(), remember_browser="1")
        submit(site, "/logout")
        with site.db() as db:
            db.execute(update(User).values(labels="authsite:admin=aal2"))
        begin(site)
        assert sessions(site) == []


def test_password_of_another_user_opens_no_factor_page(site):
    answer = submit(site, "/login", username="ann@example.com", password=f"{PASSWORD}x")
    assert answer.status_int == 422
    assert "authsite-login" not in site.http.cookies
