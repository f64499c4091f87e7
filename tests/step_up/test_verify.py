"""`/login/verify`: only what is missing is asked for, and a proof is written as a whole."""

import pytest
from sqlalchemy import select, update
from webtest import TestApp

from authsite.platform.audit.models import AuditEvent
from authsite.platform.runtime import clock
from authsite.sign_in.sessions.models import BrowserSession
from tests.support.pages import csrf_of
from tests.support.site import PASSWORD, bearer

from .people import (
    OURS,
    asked_at,
    challenge,
    enter,
    fields,
    give,
    label,
    mailed_code,
    proved,
    session,
    signed_in_by_app,
    without_password,
)

ADD = f"{OURS}/account/factors"


def test_a_factor_that_is_missing_is_added_and_the_time_stays(site, frozen):
    enter(site, "pwd")
    before, former = session(site), site.http.cookies["authsite"]
    frozen.advance(300)
    page = asked_at(site, "/strong?month=5")
    assert fields(page) == {"code"}
    assert give(page, code=site.phone.code()).location == f"{OURS}/strong?month=5"
    assert proved(site) == (("pwd", "otp"), before.auth_at)
    after = session(site)
    assert (after.id, after.expires_at) == (before.id, before.expires_at)
    assert site.http.get("/strong").text == "hello ann@example.com"
    stolen = TestApp(site.app)
    stolen.set_cookie("authsite", former)
    assert "/login?" in stolen.get("/plain", status=302).location
    with site.db() as db:
        stepped_up = AuditEvent.event == "login.stepped_up"
        [details] = db.scalars(select(AuditEvent.details).where(stepped_up)).all()
    assert details == {"session": str(before.id), "amr": "pwd otp"}


def test_for_the_time_everything_is_asked_for_that_the_sign_in_rests_on(site, frozen):
    signed_in_by_app(site, site.phone)
    frozen.advance(601)
    page = asked_at(site, "/recent")
    assert fields(page) == {"current_password", "code"}
    again = give(page, 422, current_password=PASSWORD)
    assert "Enter the 6-digit code" in again.text
    give(again, current_password=PASSWORD, code=site.phone.present())
    assert proved(site) == (("pwd", "otp"), clock.now())
    site.http.get("/recent", status=200)


def test_without_a_factor_the_time_takes_the_password_alone(plain, frozen):
    enter(plain)
    frozen.advance(601)
    page = asked_at(plain, "/recent")
    assert fields(page) == {"current_password"}
    give(page, current_password=PASSWORD)
    assert proved(plain) == (("pwd",), clock.now())


def test_a_level_and_a_time_are_asked_for_together(site, frozen):
    enter(site, "pwd")
    frozen.advance(601)
    page = asked_at(site, "/both")
    assert fields(page) == {"current_password", "code"}
    give(page, current_password=PASSWORD, code=site.phone.code())
    assert proved(site) == (("pwd", "otp"), clock.now())


def test_a_remembered_browser_is_no_part_of_a_step_up(site, frozen):
    enter(site, "pwd", "device")
    give(asked_at(site, "/strong"), code=site.phone.code())
    assert proved(site)[0] == ("pwd", "otp")


def test_a_right_code_is_not_used_up_beside_a_wrong_password(site, frozen):
    enter(site, "pwd")
    frozen.advance(601)
    code = site.phone.present()
    page = asked_at(site, "/both")
    again = give(page, 422, current_password="wrong 123 wrong", code=code)
    assert proved(site)[0] == ("pwd",)
    assert give(again, current_password=PASSWORD, code=code).location == f"{OURS}/both"


@pytest.mark.parametrize("code", ["", "000000", "abc"])
def test_a_wrong_code_changes_nothing(site, code):
    enter(site, "pwd")
    before = session(site)
    page = asked_at(site, "/strong")
    again = give(page, 422, code=code or " ")
    assert "next" in again.forms["factor"].fields
    after = session(site)
    assert (after.key_hash, after.facts) == (before.key_hash, before.facts)
    site.http.get("/strong", status=302)


def test_wrong_codes_count_for_the_user_as_at_a_sign_in(site):
    enter(site, "pwd")
    page = asked_at(site, "/strong")
    for _ in range(5):
        give(page, 422, code=site.phone.wrong())
    give(page, 429, code=site.phone.present())
    assert site.events().count("factor.failed") == 5


def test_a_code_serves_once(site):
    signed_in_by_app(site, site.phone)
    used = site.phone.present()
    with site.db() as db:
        db.execute(update(BrowserSession).values(facts=None))
    give(asked_at(site, "/strong"), 422, code=used)


def test_a_recovery_code_is_another_way(site):
    enter(site, "pwd")
    page = asked_at(site, "/strong").click("Use a recovery code")
    assert fields(page) == {"code"}
    assert give(page, code=site.codes[0]).location == f"{OURS}/strong"
    assert proved(site)[0] == ("pwd", "recovery")
    with site.db() as db:
        db.execute(update(BrowserSession).values(facts=None))
    page = asked_at(site, "/strong").click("Use a recovery code")
    give(page, 422, code=site.codes[0])


def test_with_nothing_enrolled_it_leads_to_where_a_factor_is_added(plain):
    enter(plain)
    answer = plain.http.get("/strong", status=302)
    assert plain.http.get(answer.location, status=303).location == f"{ADD}?next=%2Fstrong"


def test_an_app_is_not_enough_for_a_page_that_needs_a_passkey(site):
    enter(site, "pwd", "otp")
    answer = site.http.get("/passkey", status=302)
    assert "acr_values=phr" in answer.location
    assert site.http.get(answer.location, status=303).location == f"{ADD}?next=%2Fpasskey"


@pytest.mark.parametrize(
    "query", ["", "acr_values=aal1", "acr_values=aal3", "max_age=x", "max_age=", "max_age=-1"]
)
def test_it_leads_on_when_nothing_is_missing_and_never_left_unmet(site, query):
    """The page that was left then asks with its own words: no circle (ory/kratos#2832)."""
    enter(site, "pwd")
    answer = site.http.get(f"/login/verify?next=/strong&{query}", status=303)
    assert answer.location == f"{OURS}/strong"
    answer = site.http.get("/strong", status=302)
    assert "acr_values=aal2" in answer.location
    site.http.get(answer.location, status=200)
    site.http.get(answer.location, status=200)  # as often as one likes


def test_a_form_with_nothing_of_what_is_missing_is_refused(site):
    enter(site, "pwd")
    page = asked_at(site, "/strong")
    token = csrf_of(page)
    for given in ({}, {"current_password": PASSWORD}, {"method": "password"}, {"method": "email"}):
        form = {"csrf_token": token, "acr_values": "aal2", **given}
        site.http.post("/login/verify", form, status=422)
    assert proved(site)[0] == ("pwd",)
    site.http.post("/login/verify", {"acr_values": "aal2"}, status=403)  # no CSRF token


def test_the_page_is_for_signed_in_people(site):
    answer = site.http.get("/login/verify?next=/strong&acr_values=aal2", status=302)
    assert answer.location.startswith(f"{OURS}/login?next=")


def test_next_leads_to_no_other_site(plain):
    enter(plain)
    answer = plain.http.get("/login/verify?next=https://evil.example/x", status=303)
    assert answer.location == f"{OURS}/account"


def test_a_user_without_a_password_gives_a_mailed_code_and_a_factor(site, frozen):
    enter(site, "idp", "otp")
    without_password(site, site.ann)
    frozen.advance(601)
    page = asked_at(site, "/recent")
    assert "factor" not in page.forms
    sent = page.forms[0].submit(status=303).follow()
    assert fields(sent) == {"mail_code", "code"}
    again = give(sent, 422, mail_code="BBBB-BBBB", code=site.phone.code())
    assert proved(site)[0] == ("idp", "otp")
    code = mailed_code(site)
    frozen.advance(30)
    give(again, mail_code=code, code=site.phone.present())
    assert proved(site) == (("email", "otp"), clock.now())


def test_a_factor_is_not_used_up_beside_a_wrong_mailed_code(site, frozen):
    """A recovery code would be gone, and its notice, which is mailed with the success, too."""
    enter(site, "idp", "otp")
    without_password(site, site.ann)
    frozen.advance(601)
    page = asked_at(site, "/recent").forms[0].submit(status=303).follow()
    page = page.click("Use a recovery code")
    again = give(page, 422, mail_code="BBBB-BBBB", code=site.codes[0])
    assert "recovery_code.used" not in site.events()
    give(again, mail_code=mailed_code(site), code=site.codes[0])
    assert proved(site) == (("email", "recovery"), clock.now())
    assert "recovery_code.used" in site.events()


def test_a_script_gets_what_is_missing_in_a_header(site, frozen):
    enter(site, "pwd")
    script = {"Accept": "application/json"}
    answer = site.http.get("/strong", headers=script, status=401)
    assert answer.headers["WWW-Authenticate"] == challenge("aal2")
    frozen.advance(601)
    answer = site.http.get("/both", headers=script, status=401)
    assert answer.headers["WWW-Authenticate"] == challenge("aal2", 600)
    assert answer.json["errors"][0]["code"] == "insufficient_user_authentication"


def test_a_token_must_come_from_a_login_of_that_level(plain):
    headers = bearer(plain.login(plain.client())["access_token"])
    answer = plain.http.get("/api/strong", headers=headers, status=401)
    assert answer.headers["WWW-Authenticate"] == challenge("aal2")
    assert "second factor" in answer.json["errors"][0]["message"]
    asked = {"name": "backup", "current_password": PASSWORD}
    personal = plain.http.post_json("/v1/user/tokens", asked, headers=headers).json["token"]
    answer = plain.http.get("/api/strong", headers=bearer(personal), status=403)
    assert answer.json["errors"][0]["code"] == "login_required"
    machine = plain.token(plain.client("personal"), grant_type="client_credentials")
    headers = bearer(machine.json["access_token"])
    answer = plain.http.get("/api/strong", headers=headers, status=403)
    assert answer.json["errors"][0]["code"] == "user_required"


def test_a_group_with_a_level_offers_the_step_up(site):
    label(site, site.ann, "finance=aal2")
    enter(site, "pwd")
    give(asked_at(site, "/finance"), code=site.phone.code())
    site.http.get("/finance", status=200)
    label(site, site.ann, "ops")
    site.http.get("/finance", status=403)


@pytest.mark.parametrize("amr", [("pwd", "device"), ("pwd",), ("idp", "device"), ("email",)])
def test_a_sign_in_without_the_factor_does_not_renew_its_time_without_it(site, frozen, amr):
    """Who has stolen such a session, and the password, could not sign in."""
    enter(site, *amr)
    before = session(site).auth_at
    frozen.advance(601)
    page = asked_at(site, "/recent")
    assert fields(page) == {"current_password", "code"}
    give(page, 422, current_password=PASSWORD)
    assert session(site).auth_at == before
    give(page, current_password=PASSWORD, code=site.phone.code())
    assert proved(site) == (("pwd", "otp"), clock.now())
