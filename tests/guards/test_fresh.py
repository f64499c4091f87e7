"""The route option ``fresh``: how long ago the login may be (RFC 9470)."""

from datetime import timedelta
from uuid import UUID

import pytest
from pyramid.config import not_
from pyramid.exceptions import ConfigurationError
from sqlalchemy import select
from webtest import TestApp

from authsite.guards.route_options import Rules
from authsite.guards.step_up import find_shortfall
from authsite.sign_in.errors import InsufficientUserAuthentication
from authsite.sign_in.sessions.models import BrowserSession
from authsite.users import service as users
from authsite.users.caller import Caller
from tests.support.acting import acting
from tests.support.host import hello, route
from tests.support.pages import sign_in, submit
from tests.support.site import PASSWORD, bearer

CHALLENGE = 'Bearer error="insufficient_user_authentication", max_age=600'
OURS = "http://localhost"
VERIFY = "/login/verify?next="


@pytest.fixture
def api(host_with, frozen):
    """A host with an API route that requires a login of the last ten minutes, and Ann."""
    site = host_with(route(guard="api", fresh="10m"))
    site.user()
    return site


def pages(config):
    """Pages of a host: one to read, a form that posts elsewhere; all need a recent login."""
    for name in ("billing", "page", "act"):
        config.add_route(name, f"/{name}", guard="web", fresh="10m")
    config.add_view(hello, route_name="billing", request_method=("GET", "POST"))
    config.add_view(hello, route_name="page", request_method="GET")
    config.add_view(hello, route_name="act", request_method="POST")


def session_of(site):
    with site.db() as db:
        return db.scalars(select(BrowserSession.id)).one()


@pytest.fixture
def web(host_with, frozen):
    """A host with pages that require a login of the last ten minutes; Ann is signed in."""
    site = host_with(pages)
    site.user()
    site.user("bo@example.com")
    sign_in(site)
    return site


def reports(site, token, status):
    return site.http.get("/v1/reports", headers=bearer(token), status=status)


def test_a_token_opens_the_route_until_its_login_is_too_old(api, frozen):
    token = api.login(api.client())["access_token"]
    frozen.advance(599)
    reports(api, token, 200)
    frozen.advance(1)
    answer = reports(api, token, 401)
    assert answer.headers["WWW-Authenticate"] == CHALLENGE
    assert [item["code"] for item in answer.json["errors"]] == ["insufficient_user_authentication"]
    frozen.advance(3600)
    reports(api, token, 401)
    api.me(token)  # the token itself is as good as before


def test_a_refresh_is_no_login(api, frozen):
    keys = api.client()
    first = api.login(keys)
    frozen.advance(300)
    second = api.token(keys, grant_type="refresh_token", refresh_token=first["refresh_token"]).json
    reports(api, second["access_token"], 200)
    frozen.advance(300)
    reports(api, second["access_token"], 401)
    reports(api, api.login(keys)["access_token"], 200)


def test_the_current_password_on_a_form_is_no_login(api, frozen):
    token = api.login(api.client())["access_token"]
    frozen.advance(600)
    change = {"current_password": PASSWORD, "password": "purple wolf 77 tea"}
    api.http.put_json("/v1/user/password", change, headers=bearer(token), status=200)
    reports(api, token, 401)


def test_a_token_that_acts_for_no_user_needs_a_user_first(api):
    """No login can follow a client's own token, so RFC 9470 has no answer for it."""
    token = api.token(api.client("personal"), grant_type="client_credentials").json["access_token"]
    answer = reports(api, token, 403)
    assert [item["code"] for item in answer.json["errors"]] == ["user_required"]


def test_a_personal_access_token_is_no_login(api):
    login = api.login(api.client())["access_token"]
    asked = {"name": "backup", "current_password": PASSWORD}
    made = api.http.post_json("/v1/user/tokens", asked, headers=bearer(login), status=201)
    token = made.json["token"]
    assert reports(api, token, 401).headers["WWW-Authenticate"] == CHALLENGE
    api.me(token)


def test_a_token_that_is_not_accepted_at_all_hears_nothing_of_the_option(api):
    answer = reports(api, "at_x", 401)
    assert answer.json["errors"] == []
    assert "max_age" not in answer.headers["WWW-Authenticate"]


def test_a_login_on_a_machine_whose_clock_is_ahead_is_recent(api, frozen):
    token = api.login(api.client())["access_token"]
    frozen.advance(-30)
    reports(api, token, 200)


def test_what_a_new_login_would_not_change_is_said_first(host_with, frozen):
    site = host_with(route(guard="api", fresh="10m", scope="reports:read", verified=True))
    ann = site.user()
    token = site.login(site.client())["access_token"]
    frozen.advance(600)
    assert reports(site, token, 403).json["errors"][0]["code"] == "insufficient_scope"
    keys = site.client(scope="reports:read", default_scope="reports:read", name="other")
    token = site.login(keys)["access_token"]
    frozen.advance(600)
    assert reports(site, token, 403).json["errors"][0]["code"] == "email_not_verified"
    with site.db() as db:
        users.confirm(acting(db), users.find(db, str(ann.id)))
    assert reports(site, token, 401).headers["WWW-Authenticate"] == CHALLENGE


def test_a_page_asks_for_a_proof_and_is_then_shown(web, frozen):
    web.http.get("/billing", status=200)
    former, session = web.http.cookies["authsite"], session_of(web)
    frozen.advance(600)
    answer = web.http.get("/billing?month=5", status=302)
    assert answer.location == f"{OURS}{VERIFY}%2Fbilling%3Fmonth%3D5&max_age=600"
    form = web.http.get(answer.location, status=200).forms["factor"]
    assert "code" not in form.fields
    form["current_password"] = PASSWORD
    back = form.submit(status=303)
    assert back.location == f"{OURS}/billing?month=5"
    assert web.http.get(back.location, status=200).text == "hello ann@example.com"
    assert session_of(web) == session
    stolen = TestApp(web.app)
    stolen.set_cookie("authsite", former)
    assert "/login?" in stolen.get("/billing", status=302).location


def test_another_user_may_log_in_and_replaces_the_session(web, frozen):
    frozen.advance(600)
    page = web.http.get(web.http.get("/billing").location)
    other = page.html.select_one("main p.muted a")["href"]
    form = web.http.get(other).forms[0]
    form["username"], form["password"] = "bo@example.com", PASSWORD
    assert web.http.get(form.submit(status=303).location).text == "hello bo@example.com"
    with web.db() as db:
        assert len(db.scalars(select(BrowserSession.id)).all()) == 1


def test_a_proof_that_fails_keeps_the_session_and_the_way_back(web, frozen):
    frozen.advance(600)
    form = web.http.get(web.http.get("/billing").location).forms["factor"]
    form["current_password"] = "wrong 123 wrong"
    again = form.submit(status=422).forms["factor"]
    web.http.get("/account", status=200)
    again["current_password"] = PASSWORD
    assert again.submit(status=303).location == f"{OURS}/billing"


def test_a_script_on_a_page_gets_401(web, frozen):
    frozen.advance(600)
    answer = web.http.get("/billing", headers={"Accept": "application/json"}, status=401)
    assert answer.headers["WWW-Authenticate"] == CHALLENGE
    assert [item["code"] for item in answer.json["errors"]] == ["insufficient_user_authentication"]


@pytest.mark.parametrize(
    ("path", "referer", "query"),
    [
        ("/billing", None, "next=%2Fbilling&max_age=600&unsaved=1"),
        ("/act", f"{OURS}/page?id=5", "next=%2Fpage%3Fid%3D5&max_age=600&unsaved=1"),
        ("/act", None, "max_age=600&unsaved=1"),
    ],
)
def test_after_a_form_the_proof_leads_back_to_the_page_of_the_form(
    web, frozen, path, referer, query
):
    frozen.advance(600)
    answer = web.http.post(path, {}, headers={"Referer": referer} if referer else {}, status=302)
    assert answer.location == f"{OURS}/login/verify?{query}"
    page = web.http.get(answer.location, status=200)
    assert "Your changes were not saved." in page.text


def test_without_a_session_the_login_page_is_the_usual_one(web):
    web.http.reset()
    answer = web.http.get("/billing", status=302)
    assert answer.location == f"{OURS}/login?next=/billing"
    assert "sign in again" not in web.http.get(f"{answer.location}&prompt=login", status=200).text


def test_a_signed_in_user_is_still_sent_on_from_the_login_page(web):
    assert web.http.get("/login?next=/billing", status=303).location == f"{OURS}/billing"
    assert web.http.get("/login?next=/billing&prompt=none").location == f"{OURS}/billing"


def test_a_new_id_of_the_same_session_is_no_login(web, frozen):
    frozen.advance(600)
    former = web.http.cookies["authsite"]
    submit(web, "/account/sessions/end-others", page="/account")
    assert web.http.cookies["authsite"] != former
    assert "/login/verify" in web.http.get("/billing", status=302).location


def test_the_page_that_asks_is_ours_also_with_a_login_page_of_another_origin(host_with, frozen):
    elsewhere = host_with(pages, login_page_url="https://sso.example.org/in")
    elsewhere.user()
    sign_in(elsewhere)
    frozen.advance(600)
    answer = elsewhere.http.get("/page", status=302)
    assert answer.location == f"{OURS}{VERIFY}%2Fpage&max_age=600"
    elsewhere.http.get(answer.location, status=200)


def test_the_rule_itself_refuses_a_caller_without_a_time(web):
    caller = Caller(guard="web", account=web.user("eve@example.com"), browser_uuid=UUID(int=7))
    rules = Rules(guard="web", fresh=timedelta(minutes=10))
    error = find_shortfall(rules, caller, web.cfg)
    assert isinstance(error, InsufficientUserAuthentication)


@pytest.mark.parametrize(
    "value",
    [None, "", " ", "10", 10, 600.0, True, "0m", "0s", "-5m", "10 m", "10min", "1.5h", "m",
     "36501d", "99999999999s", timedelta(minutes=10), ["10m"], not_("10m")],
)  # fmt: skip
@pytest.mark.parametrize("guard", ["api", "web"])
def test_a_value_that_is_no_duration_stops_the_start(host_with, guard, value):
    with pytest.raises(ConfigurationError, match=r"fresh=.* on a route: give a duration"):
        host_with(route(guard=guard, fresh=value))


def test_a_value_without_a_guard_or_with_anonymous_stops_the_start(host_with):
    with pytest.raises(ConfigurationError, match=r"'reports': .*no guard"):
        host_with(route(fresh="10m"))
    with pytest.raises(ConfigurationError, match="'reports': anonymous=True would"):
        host_with(route(guard="api", anonymous=True, fresh="10m"))
