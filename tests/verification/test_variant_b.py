"""Variant B: its paths and pages, and confirmation required at every login and every access."""

from urllib.parse import parse_qs, urlsplit

import pytest
from pyramid.interfaces import IRoutesMapper

from authsite.guards.route_options import rules_of
from authsite.oauth.proxy.service import WITNESS_PURPOSE
from authsite.oauth.scopes import OPENID
from authsite.users import service as users
from tests.support.acting import acting
from tests.support.applications import token_of
from tests.support.mails import link_in
from tests.support.pages import sign_in, submit
from tests.support.site import PASSWORD, WEB, bearer

CONFIRM = "https://app.example.org/confirm"
RESET = "https://app.example.org/new-password"
BASE = "https://id.example.org"
B = {
    "variant": "B",
    "users.confirm-email-url": CONFIRM,
    "users.reset-password-url": RESET,
    "base_url": BASE,
    **WEB,
}
NOTIFICATION = "/v1/email/verification-notification"
CODE = "email_not_confirmed"
# What is left to an unconfirmed user.
OPEN = {"authsite.logout", "authsite.logout.bare", "authsite.verification.notification"}


@pytest.fixture
def lenient(site_with):
    """Variant B as it is by default."""
    return site_with(**B)


@pytest.fixture
def strict(site_with):
    """Variant B with confirmation required."""
    return site_with(**B, require_email_confirmation="true")


@pytest.fixture
def keys(strict):
    return strict.first_party("web")


@pytest.fixture
def doubted(strict, keys):
    """The tokens of a user whose confirmation was taken back after the login."""
    strict.user(confirmed=True)
    tokens = strict.login(keys)
    strict.mails()
    doubt(strict)
    return tokens


def doubt(site):
    with site.db() as db:
        users.find(db, "ann@example.com").email_verified_at = None


def register(site, email="bo@example.com", **more):
    body = {"email": email, "password": PASSWORD, **more}
    return site.http.post_json("/v1/register", body, status=201)


def mailed_path(site, page=CONFIRM):
    """The signed URL in the one mail that waits, as path and query."""
    [mail] = site.mails()
    link = link_in(mail)
    assert link.startswith(f"{page}?url=")
    [url] = parse_qs(urlsplit(link).query)["url"]
    return url.removeprefix(BASE)


def refused(answer):
    """A refusal of the token endpoint and the proxies, as the contract words it."""
    assert answer.status_int == 400
    assert answer.json["error"] == "invalid_grant"
    assert answer.json["error_description"] == answer.json["message"]
    assert [(each["code"], each["field"]) for each in answer.json["errors"]] == [(CODE, None)]
    assert "access_token" not in answer.text
    assert "Set-Cookie" not in answer.headers


def test_the_paths_of_the_variants_are_their_own(site_with):
    a, b = site_with(**WEB), site_with(**B)
    for path in ("/v1/password/forgot", "/v1/password/reset"):
        a.http.post_json(path, {}, status=422)
        b.http.post_json(path, {}, status=404)
        dashed = path.replace("password/", "password-")
        b.http.post_json(dashed, {}, status=422)
        a.http.post_json(dashed, {}, status=404)


def test_the_reset_page_is_the_one_of_the_user_configuration(lenient):
    lenient.user()
    body = {"email": "ann@example.com", "reset_url": RESET}
    lenient.http.post_json("/v1/password-forgot", body, status=202)
    [mail] = lenient.mails()
    assert link_in(mail).startswith(f"{RESET}?email=ann%40example.com&token=")
    for other in (CONFIRM, RESET + "/", f"{BASE}/password/reset"):
        body["reset_url"] = other
        lenient.http.post_json("/v1/password-forgot", body, status=422)
    assert lenient.mails() == []


def test_the_mailed_link_resets_the_password(lenient):
    lenient.user()
    body = {"email": "ann@example.com", "reset_url": RESET}
    lenient.http.post_json("/v1/password-forgot", body, status=202)
    [mail] = lenient.mails()
    link = {name: value for name, [value] in parse_qs(urlsplit(link_in(mail)).query).items()}
    lenient.http.post_json("/v1/password-reset", {**link, "password": "purple wolf 77"}, status=200)
    lenient.login(lenient.client(), password="purple wolf 77")


def test_with_confirmation_registering_mails_the_link_at_once(strict):
    register(strict)
    assert strict.http.get(mailed_path(strict), status=200)
    strict.login(strict.client(), "bo@example.com")


def test_whatever_page_is_requested_the_link_leads_to_the_configured_one(strict):
    body = {"email": "bo@example.com", "password": PASSWORD, "verification_url": RESET}
    strict.http.post_json("/v1/register", body, status=422)
    register(strict, verification_url=CONFIRM)
    mailed_path(strict)


def test_without_confirmation_registering_mails_nothing_and_everything_is_open(lenient):
    register(lenient)
    assert lenient.mails() == []
    tokens = lenient.login(lenient.client(), "bo@example.com")
    lenient.me(tokens["access_token"])


def test_the_token_endpoint_refuses_the_unconfirmed_after_a_right_password_only(strict, keys):
    strict.user()
    refused(strict.try_login(keys, PASSWORD))
    for answer in (
        strict.try_login(keys, "not this one"),
        strict.try_login(keys, PASSWORD, username="nobody@example.com"),
    ):
        assert answer.json["error"] == "invalid_grant"
        assert CODE not in answer.text
        assert "errors" not in answer.json
    assert strict.families() == []


@pytest.mark.parametrize("path", ["login", "users/login"])
def test_both_proxies_refuse_the_unconfirmed_after_a_right_password_only(strict, keys, path):
    strict.user()
    url = f"/v1/clients/web/{path}"
    form = {"username": "ann@example.com", "password": PASSWORD}
    refused(strict.http.post(url, form, status=400))
    wrong = strict.http.post(url, {**form, "password": "not this one"}, status=400)
    assert CODE not in wrong.text
    assert strict.families() == []


def test_no_refresh_renews_the_tokens_of_the_unconfirmed(strict, keys, doubted):
    form = {"grant_type": "refresh_token", "refresh_token": doubted["refresh_token"]}
    refused(strict.token(keys, 400, **form))
    refused(strict.http.post("/v1/clients/web/refresh", form, status=400))
    strict.http.set_cookie("refreshToken", doubted["refresh_token"])
    [family] = strict.families()
    witness = strict.app.registry["authsite"].keys[WITNESS_PURPOSE].sign(family.id.bytes)
    strict.http.set_cookie("__Host-authsite-refresh-web", witness)
    refused(strict.http.post_json("/v1/clients/web/refresh", {}, status=400))
    assert [family.generation for family in strict.families()] == [0]
    with strict.db() as db:
        users.confirm(acting(db), users.find(db, "ann@example.com"))
    strict.refresh(keys, doubted["refresh_token"])


def test_the_login_page_refuses_the_unconfirmed_after_a_right_password_only(site_with):
    here = site_with(**{**B, "base_url": "http://localhost"}, require_email_confirmation="true")
    here.user()
    wrong = submit(here, "/login", username="ann@example.com", password="not this one")
    right = submit(here, "/login", username="ann@example.com", password=PASSWORD)
    assert "Confirm your e-mail address" not in wrong.text
    assert "Confirm your e-mail address" in right.text
    assert (wrong.status_int, right.status_int) == (422, 422)
    assert "authsite" not in here.http.cookies


def guarded(site, guard):
    """``(path, method)`` of every view behind ``guard`` that the unconfirmed may not reach."""
    registry = site.app.registry
    routes = {route.name: route for route in registry.getUtility(IRoutesMapper).get_routes()}
    for item in registry.introspector.get_category("views"):
        view = item["introspectable"]
        route = routes.get(view["route_name"])
        if route and rules_of(route).guard == guard and route.name not in OPEN:
            path = route.pattern.replace("{id}", "00000000-0000-0000-0000-000000000001")
            methods = view["request_methods"]
            for method in (methods,) if isinstance(methods, str) else methods:
                yield path, method


def test_every_protected_route_of_the_api_refuses_the_unconfirmed(strict):
    strict.user(confirmed=True)
    headers = bearer(token_of(strict, OPENID))  # without this scope userinfo refuses everyone
    doubt(strict)
    found = set(guarded(strict, "api"))
    assert len(found) >= 8
    for path, method in found:
        answer = strict.http.request(path, method=method, headers=headers, status="*")
        assert answer.status_int == 403, (method, path)
        if method != "HEAD":
            assert [(e["code"], e["field"]) for e in answer.json["errors"]] == [(CODE, None)]


def test_every_protected_page_refuses_the_unconfirmed(site_with):
    here = site_with(**{**B, "base_url": "http://localhost"}, require_email_confirmation="true")
    here.user(confirmed=True)
    sign_in(here)
    here.http.get("/account", status=200)
    doubt(here)
    # A proof opens nothing by itself: the page that it leads to has a guard.
    open_pages = ("/login/verify", "/login/verify/mail")
    found = {each for each in guarded(here, "web") if each[0] not in open_pages}
    assert len(found) >= 8
    for path, method in found:
        answer = here.http.request(path, method=method, status="*")
        assert answer.status_int == 403, (method, path)
        assert "Confirm your e-mail address" in answer.text or method == "HEAD"


@pytest.mark.parametrize("path", ["/v1/logout", "/v1/logout/"])
def test_the_unconfirmed_can_still_log_out(strict, doubted, path):
    strict.http.delete(path, headers=bearer(doubted["access_token"]), status=200)
    strict.me(doubted["access_token"], status=401)


def test_the_unconfirmed_can_still_request_a_link_and_then_come_in(strict, doubted):
    headers = bearer(doubted["access_token"])
    strict.http.post_json(NOTIFICATION, {}, headers=headers, status=202)
    strict.http.get(mailed_path(strict), status=200)
    strict.me(doubted["access_token"], status=200)
    strict.http.post_json(NOTIFICATION, {}, headers=headers, status=200)


@pytest.mark.control("L04")
def test_without_a_token_the_answer_is_the_same_for_every_address(site_with):
    site = site_with(**B, limits="on", limits_verification_email="3/hour")
    site.user()
    site.user("sure@example.com", confirmed=True)
    site.user("off@example.com")
    with site.db() as db:
        users.disable(acting(db), users.find(db, "off@example.com"))
    emails = ["ann@example.com"] * 5 + ["sure@example.com", "off@example.com", "no@example.com",
             "a@b.c,d@e.f", "ann＠example.com", "ＡＮＮ@example.com", "no address"]  # fmt: skip
    responses = [
        site.http.post_json(NOTIFICATION, {"email": email}, status=202) for email in emails
    ]
    assert len({answer.body for answer in responses}) == 1
    assert [mail["To"] for mail in site.mails()] == ["ann@example.com"] * 3


def test_without_a_token_a_page_that_is_not_the_configured_one_is_refused(lenient):
    lenient.user()
    body = {"email": "ann@example.com", "verification_url": RESET}
    lenient.http.post_json(NOTIFICATION, body, status=422)
    lenient.http.post_json(NOTIFICATION, {}, status=422)
    assert lenient.mails() == []


@pytest.mark.parametrize("header", ["Bearer at_x", "Bearer", "Basic eDp5", "", "x"])
def test_a_token_that_is_no_good_is_401_and_not_taken_for_none(lenient, header):
    lenient.user()
    body = {"email": "ann@example.com"}
    lenient.http.post_json(NOTIFICATION, body, headers={"Authorization": header}, status=401)
    assert lenient.mails() == []


def test_variant_a_requires_a_token(site):
    site.user()
    site.http.post_json(NOTIFICATION, {"email": "ann@example.com"}, status=401)
    assert site.mails() == []


def test_without_prevent_enumeration_the_reason_is_given(site_with):
    site = site_with(**B, require_email_confirmation="true")
    site.user()
    answer = site.login(site.first_party("web"), status=400)
    assert [item["code"] for item in answer["errors"]] == [CODE]
