"""Passkeys on the pages: added, named, removed, and as a second factor."""

import json

import pytest
from sqlalchemy import select, update

from authsite.platform.runtime import clock
from authsite.sign_in.credentials import amr_of, pack
from authsite.sign_in.methods.passkeys.stored import Passkey
from authsite.sign_in.pending import PendingLogin
from authsite.sign_in.sessions.models import BrowserSession
from tests.passkeys.passkey_users import register
from tests.support.authenticator import Authenticator
from tests.support.pages import sign_in, submit
from tests.support.site import PASSWORD

from .people import add_app

PAGE = "/account/factors/passkeys"
SECURITY = "/account/security"


@pytest.fixture
def site(site_with):
    made = site_with(limits="on")
    made.ann = made.user(confirmed=True)
    return made


@pytest.fixture
def signed_in(site):
    """Ann has signed in with a mailed code, so that she may add a first factor."""
    sign_in(site)
    prove(site, "pwd email")
    return site


def prove(site, amr):
    with site.db() as db:
        db.execute(update(BrowserSession).values(facts=pack(amr.split()), auth_at=clock.now()))


def options_in(page):
    return json.loads(page.html.find("form", {"data-passkey": True})["data-options"])


def rows(site, model=Passkey):
    with site.db() as db:
        return db.scalars(select(model)).all()


def add(site, authenticator, **fields):
    page = submit(site, PAGE, current_password=PASSWORD)
    made = authenticator.create(options_in(page))
    return submit(site, f"{PAGE}/add", page=PAGE, credential=json.dumps(made), **fields)


class TestAdding:
    def test_without_a_script_the_pages_say_that_one_is_needed(self, signed_in):
        page = signed_in.http.get(SECURITY)
        section = page.html.find("section", {"aria-labelledby": "passkeys"})
        assert section.noscript.text == "Passkeys need JavaScript."
        step = submit(signed_in, PAGE, current_password=PASSWORD)
        assert step.html.find("noscript").text == "Passkeys need JavaScript."
        form = step.html.find("form", {"data-passkey": "create"})
        assert set(json.loads(form["data-words"])) >= {"cancelled", "exists", "unsupported"}
        assert step.html.find("script", src=lambda src: src.endswith("/passkey.js"))
        empty = submit(signed_in, f"{PAGE}/add", page=PAGE, credential="")
        assert empty.status_int == 422
        assert rows(signed_in) == []

    def test_a_first_one_shows_the_recovery_codes(self, signed_in):
        shown = add(signed_in, Authenticator(), name="My phone", asked="true", end_others="true")
        assert shown.html.h1.text == "Save your recovery codes"
        assert [each.name for each in rows(signed_in)] == ["My phone"]
        page = signed_in.http.get(SECURITY)
        assert page.html.find("strong", string="My phone")
        told = json.loads(page.html.find("h2", id="passkeys")["data-signals"])
        assert told["allAcceptedCredentialIds"] == [rows(signed_in)[0].credential_id]
        assert not page.html.find("section", {"aria-labelledby": "factors"}).find(class_="badge")

    def test_a_second_one_leads_back(self, signed_in):
        add(signed_in, Authenticator())
        answer = add(signed_in, Authenticator())
        assert answer.headers["Location"].endswith(f"{SECURITY}?done=passkey")
        assert len(rows(signed_in)) == 2

    def test_a_wrong_one_is_told_and_nothing_is_added(self, signed_in):
        answer = submit(signed_in, f"{PAGE}/add", page=PAGE, credential="{}")
        assert answer.status_int == 422
        assert answer.html.find(class_="summary")
        assert rows(signed_in) == []

    def test_options_of_another_sign_in_add_nothing(self, signed_in):
        site = signed_in
        page = submit(site, PAGE, current_password=PASSWORD)
        made = Authenticator().create(options_in(page))
        site.new_browser()
        sign_in(site)
        answer = submit(site, f"{PAGE}/add", page=PAGE, credential=json.dumps(made))
        assert answer.status_int == 422
        assert rows(site) == []


class TestChanges:
    def test_it_gets_another_name(self, signed_in):
        add(signed_in, Authenticator())
        path = f"{PAGE}/{rows(signed_in)[0].id}/name"
        empty = submit(signed_in, path, page=SECURITY, name="")
        assert empty.status_int == 422
        assert empty.html.find("form", action=path).find_parent("details").has_attr("open")
        for name in (" \xa0", "two\nlines"):
            assert submit(signed_in, path, page=SECURITY, name=name).status_int == 422
        done = submit(signed_in, path, page=SECURITY, name="Kitchen <b>")
        assert done.follow().html.find("strong", string="Kitchen <b>")

    def test_it_is_removed_after_the_password(self, signed_in):
        add(signed_in, Authenticator())
        path = f"{PAGE}/{rows(signed_in)[0].id}/remove"
        assert submit(signed_in, path, page=SECURITY, current_password="x").status_int == 422
        done = submit(signed_in, path, page=SECURITY, current_password=PASSWORD)
        assert "You can no longer sign in with it." in done.follow().text
        assert rows(signed_in) == []

    @pytest.mark.parametrize("what", ["name", "remove"])
    def test_one_of_another_user_is_not_found(self, signed_in, what):
        register(signed_in, signed_in.user("bob@example.com", confirmed=True))
        form = {"name": "Mine", "current_password": PASSWORD}
        answer = submit(signed_in, f"{PAGE}/{rows(signed_in)[0].id}/{what}", page=SECURITY, **form)
        assert answer.status_int == 404
        assert rows(signed_in)[0].name != "Mine"

    def test_after_the_password_it_is_asked_for_if_the_user_wants_that(self, signed_in):
        site, phone = signed_in, Authenticator()
        add(site, phone)
        submit(site, "/logout")
        assert sign_in(site).headers["Location"].endswith("/account")
        prove(site, "pwd pop user")
        form = {"page": SECURITY, "current_password": PASSWORD, "after_password": "true"}
        assert submit(site, "/account/factors/after-password", **form).status_int == 303
        submit(site, "/logout")
        assert sign_in(site).headers["Location"].endswith("/login/factor")
        prove(site, "pwd pop user")


class TestAsSecondFactor:
    def begin(self, site):
        assert sign_in(site).headers["Location"].endswith("/login/factor")
        return site.http.get("/login/factor")

    def test_the_one_used_last_is_asked_for_first(self, site):
        app, _codes = add_app(site, site.ann)
        phone = register(site, site.ann)
        page = self.begin(site)
        assert page.html.h1.text == "Use your passkey"
        ways = [each.text for each in page.html.select(".ways a")]
        assert ways == ["Use the code of your authenticator app", "Use a recovery code"]
        assert "Passkeys need JavaScript." in page.html.find("noscript").text
        credential = json.dumps(phone.get(options_in(page)))
        answer = submit(site, "/login/factor", method="passkey", credential=credential)
        assert answer.headers["Location"] == "http://localhost/account"
        assert amr_of(rows(site, BrowserSession)[0].facts)[:2] == ("pwd", "pop")
        submit(site, "/logout")
        self.begin(site)
        submit(site, "/login/factor", method="totp", code=app.code())
        submit(site, "/logout")
        assert self.begin(site).html.h1.text == "Enter your code"

    def test_a_wrong_one_is_told_and_another_way_is_open(self, site):
        app, _codes = add_app(site, site.ann)
        register(site, site.ann)
        self.begin(site)
        answer = submit(site, "/login/factor", method="passkey", credential="{}")
        assert answer.status_int == 422
        assert "This passkey was not accepted." in answer.html.find(class_="summary").text
        other = answer.click("Use the code of your authenticator app")
        assert other.html.h1.text == "Enter your code"
        assert submit(site, "/login/factor", method="totp", code=app.code()).status_int == 303

    def test_a_passkey_is_added_where_the_policy_requires_a_factor(self, site_with):
        site = site_with(second_factor="required")
        site.user(confirmed=True)
        sign_in(site)
        with site.db() as db:
            db.execute(update(PendingLogin).values(amr="pwd email"))
        page = site.http.get("/login/factor")
        made = json.dumps(Authenticator().create(options_in(page)))
        shown = submit(site, "/login/factor", method="passkey", credential=made)
        assert shown.html.h1.text == "Save your recovery codes"
        assert len(rows(site)) == 1
        site.http.get("/account", status=200)
