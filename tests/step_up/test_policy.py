"""`second-factor = required`: from `second-factor-from` on the guards refuse weak sign-ins."""

from datetime import timedelta

import pytest
from pyramid.interfaces import IRoutesMapper
from sqlalchemy import update

from authsite.guards.route_options import rules_of
from authsite.oauth.models import Family
from authsite.platform.runtime import clock
from authsite.sign_in.credentials import pack
from authsite.sign_in.sessions.models import BrowserSession
from tests.factor_pages.people import add_app
from tests.support.pages import sign_in
from tests.support.site import PASSWORD, bearer

from .people import OURS, challenge, give, proved

OPEN = {
    "authsite.logout", "authsite.logout.bare", "authsite.verification.notification",
    "authsite.login.verify", "authsite.login.verify.mail", "authsite.account.security",
    "authsite.user.factors", "authsite.user.totp", "authsite.user.totp.confirm",
    "authsite.user.passkeys", "authsite.user.passkeys.options", "authsite.user.passkey",
    "authsite.user.mail_code",
}  # fmt: skip


@pytest.fixture
def required(host, frozen):
    """A host whose policy begins tomorrow, and Ann, who has signed in with a browser and an app."""
    start = (clock.now() + timedelta(days=1)).date()
    policy = {"second_factor": "required", "second_factor_from": start.isoformat()}
    site = host(**policy, session_idle="5d")
    site.ann = site.user(confirmed=True)
    sign_in(site)
    site.keys = site.client()
    site.tokens = site.login(site.keys)
    site.headers = bearer(site.tokens["access_token"])
    asked = {"name": "backup", "current_password": PASSWORD}
    made = site.http.post_json("/v1/user/tokens", asked, headers=site.headers, status=201)
    site.personal = bearer(made.json["token"])
    machine = site.token(site.client("personal"), grant_type="client_credentials").json
    site.machine = bearer(machine["access_token"])
    return site


def begin(frozen):
    """The day of the policy."""
    frozen.advance(24 * 3600)


def test_before_its_day_nothing_changes(required):
    required.http.get("/plain", status=200)
    required.http.get("/api/plain", headers=required.headers, status=200)


def test_from_its_day_on_weak_sign_ins_are_refused_as_in_a_step_up(required, frozen):
    begin(frozen)
    script = {"Accept": "application/json"}
    answer = required.http.get("/plain", headers=script, status=401)
    assert answer.headers["WWW-Authenticate"] == challenge("aal2")
    answer = required.http.get("/api/plain", headers=required.headers, status=401)
    assert answer.headers["WWW-Authenticate"] == challenge("aal2")
    answer = required.http.get("/v1/user", headers=required.headers, status=401)
    assert answer.headers["WWW-Authenticate"] == challenge("aal2")
    page = required.http.get("/plain", status=302)
    assert page.location == f"{OURS}/login/verify?next=%2Fplain&acr_values=aal2"
    added = required.http.get(page.location, status=303)
    required.http.get(added.location, status=200)  # and this page does not lead away again


def test_others_stay(required, frozen):
    begin(frozen)
    for headers in (required.personal, required.machine):
        required.http.get("/api/plain", headers=headers, status=200)
    with required.db() as db:
        for model in (BrowserSession, Family):
            db.execute(update(model).values(facts=pack(("pwd", "device"))))
    required.http.get("/plain", status=200)
    required.http.get("/api/plain", headers=required.headers, status=200)
    with required.db() as db:
        for model in (BrowserSession, Family):
            db.execute(update(model).values(facts=pack(("pwd", "otp"))))
    required.http.get("/plain", status=200)
    required.http.get("/api/plain", headers=required.headers, status=200)


def test_a_user_with_a_factor_goes_on_after_a_step_up(required, frozen):
    phone, _codes = add_app(required, required.ann)
    begin(frozen)
    page = required.http.get("/plain", status=302).follow()
    assert give(page, code=phone.present()).location == f"{OURS}/plain"
    required.http.get("/plain", status=200)
    assert proved(required)[0] == ("pwd", "otp")


def test_the_time_under_the_policy_asks_for_the_factor_as_well(required, frozen):
    """Otherwise the password alone would take away what lets a remembered browser pass."""
    add_app(required, required.ann)
    with required.db() as db:
        db.execute(update(BrowserSession).values(facts=pack(("pwd", "device"))))
    begin(frozen)
    page = required.http.get("/recent", status=302).follow()
    assert {"current_password", "code"} <= set(page.forms["factor"].fields)


def test_what_adds_a_factor_stays_open(required, frozen):
    begin(frozen)
    required.http.get("/v1/user/factors", headers=required.headers, status=200)
    required.http.post_json("/v1/user/mail-code", {}, headers=required.headers, status=202)
    required.http.get("/account/security", status=200)
    required.http.get("/account/access", status=302)
    required.http.delete("/v1/logout", headers=required.headers, status=200)


def test_open_are_these_routes_and_no_others(plain):
    routes = plain.app.registry.getUtility(IRoutesMapper).get_routes()
    found = {each.name for each in routes if rules_of(each).unenrolled}
    pages = {name for name in found if name.startswith("authsite.account.factors")}
    assert found - pages == OPEN


def test_an_anonymous_page_takes_a_weak_sign_in_for_none(host_with, frozen):
    def build(config):
        config.add_route("front", "/front", guard="web", anonymous=True)
        config.add_view(
            lambda request: {"known": request.authsite.caller is not None},
            route_name="front",
            renderer="json",
        )

    start = (clock.now() + timedelta(days=1)).date()
    policy = {"second_factor": "required", "second_factor_from": start.isoformat()}
    site = host_with(build, **policy, session_idle="5d")
    site.user()
    sign_in(site)
    assert site.http.get("/front").json == {"known": True}
    begin(frozen)
    assert site.http.get("/front").json == {"known": False}
