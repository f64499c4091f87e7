"""One refusal names every mistake, also those that the service finds beside a missing field."""

import pytest
from pyramid.interfaces import IRoutesMapper

from authsite.guards.route_options import rules_of
from authsite.platform.http.bodies import Body
from tests.factor_pages.people import add_app
from tests.support import administrators
from tests.support.pages import csrf_of, sign_in
from tests.support.site import PASSWORD, bearer
from tests.support.walk import SETTINGS

LONG = "x" * 5000
FOREIGN = {"verification_url": "https://x.example/"}
API = [
    ("post /v1/register", {"email": "nonsense"}, "email password"),
    ("post /v1/register", {"password": "x"}, "email password"),
    (
        "post /v1/register",
        {"email": "nonsense", "phone": "12", "name": LONG, **FOREIGN},
        "email password name phone verification_url",
    ),
    ("post /v1/register", {"email": "bo@example.com", "name": "\0"}, "name password"),
    ("put /v1/user/password", {}, "current_password password"),
    (
        "put /v1/user/password",
        {"current_password": "", "password": ""},
        "current_password password",
    ),
    ("put /v1/user/password", {"password": "x"}, "current_password password"),
    (
        "put /v1/user/password",
        {"current_password": LONG, "password": "x"},
        "current_password password",
    ),
    ("put /v1/user/email", {}, "email current_password"),
    ("put /v1/user/email", {"email": "nonsense"}, "email current_password"),
    ("put /v1/user/email", FOREIGN, "email current_password verification_url"),
    (
        "put /v1/user/email",
        {"email": "new@example.com", **FOREIGN},
        "current_password verification_url",
    ),
    ("post /v1/user/tokens", {}, "name current_password"),
    (
        "post /v1/user/tokens",
        {"scope": "nope", "expires_in": "soon"},
        "name scope expires_in current_password",
    ),
    (
        "post /v1/user/tokens",
        {"name": "script", "scope": "nope", "expires_in": "soon"},
        "current_password scope expires_in",
    ),
    ("patch /v1/user", {"name": LONG, "phone": "12"}, "name phone"),
    ("put /v1/user/second-factor", {}, "current_password after_password"),
    ("post /v1/password/forgot", {}, "email reset_url"),
    ("post /v1/password/forgot", {"reset_url": "https://x.example/"}, "email reset_url"),
    (
        "post /v1/password/reset",
        {"password": "purple wolf 77", "password_confirmation": "other"},
        "email token password_confirmation",
    ),
]
PAGES = [
    ("/account/password", {}, "current_password password"),
    ("/account/password", {"current_password": "", "password": "x"}, "current_password password"),
    ("/account/email", {}, "email current_password"),
    ("/account/tokens", {}, "name current_password"),
    ("/account/profile", {"name": LONG, "phone": "12"}, "name phone"),
    ("/register", {}, "email password"),
    ("/register", {"email": "a" * 300, "password": "x", "phone": "12"}, "email password phone"),
]
# Where nothing but the fields themselves can be wrong, or what is beside them is a secret that
# must not be tried, or counted, for a request that is refused anyway.
WITHOUT = {
    "AddressForm": "the rest is the sealed step",
    "ClientMetadata": "RFC 7591 has one error",
    "ConfirmTotpBody": "the code",
    "DeviceForm": "the code",
    "FactorForm": "the code",
    "LoginBody": "the password",
    "NotMeForm": "the link decides whether a password is rated",
    "PasskeyBody": "the passkey",
    "PasskeyLoginBody": "the passkey",
    "PasskeyForm": "the passkey",
    "PresentedToken": "RFC 7662 has one error",
    "SecondStepBody": "the code",
}


def fields(answer):
    return sorted(each["field"] for each in answer.json["errors"])


@pytest.fixture
def everything(site_with):
    urls = {"allowed_verify_email_urls": "https://app.example/verify"}
    site = site_with(**(SETTINGS | administrators.SETTINGS | {"limits": "off", **urls}))
    site.ann = site.user(confirmed=True)
    site.headers = bearer(site.login(site.client())["access_token"])
    return site


@pytest.mark.parametrize(("call", "body", "wrong"), API)
def test_the_api_names_all_of_them(everything, call, body, wrong):
    method, path = call.split()
    send = getattr(everything.http, f"{method}_json")
    answer = send(path, body, headers=everything.headers, status=422)
    assert fields(answer) == sorted(wrong.split())


@pytest.mark.parametrize(("path", "form", "wrong"), PAGES)
def test_the_page_marks_all_of_them(everything, path, form, wrong):
    token = csrf_of(everything.http.get("/register"))
    if path.startswith("/account"):
        sign_in(everything)
        token = csrf_of(everything.http.get("/account"))
    page = everything.http.post(path, {"csrf_token": token, **form}, status=422)
    shown = [each["href"].rpartition("-")[2].strip("#") for each in page.html.select(".summary a")]
    assert sorted(shown) == sorted(wrong.split())


def test_a_wrong_password_is_neither_tried_nor_counted_for_a_refused_request(everything):
    for _ in range(8):
        body, path = {"current_password": "wrong"}, "/v1/user/password"
        answer = everything.http.put_json(path, body, headers=everything.headers, status=422)
        assert fields(answer) == ["password"]
    assert "reauthentication.failed" not in everything.events()


def test_a_refused_registration_counts_as_one(site_with):
    """To rate its password takes a tenth of a second, and anyone may ask for it."""
    site = site_with(**SETTINGS | {"limits": "on", "limits.register-address": "2/hour"})
    body = {"password": "password"}
    for status in (422, 422, 429):
        answer = site.http.post_json("/v1/register", body, status=status)
    assert answer.json["errors"][0]["code"] == "too_many_attempts"


def test_a_new_password_without_the_present_one_counts_as_one_that_is_rated(site_with):
    site = site_with(**SETTINGS | {"limits": "on", "limits.password-check": "2/hour"})
    site.user(confirmed=True)
    headers, path = bearer(site.login(site.client())["access_token"]), "/v1/user/password"
    for body in ({"password": "password"}, {"password": "password", "more": "x"}):
        site.http.put_json(path, body, headers=headers, status=422)
    site.http.put_json(path, {"password": "password"}, headers=headers, status=429)
    right = {"current_password": PASSWORD, "password": "green otter 31 rye"}
    site.http.put_json(path, right, headers=headers, status="2*")


def test_what_anyone_may_send_again_and_again_has_a_limit(everything):
    registry, limits = everything.app.registry, {}
    route_of = registry.getUtility(IRoutesMapper).get_route
    for item in registry.introspector.get_category("views"):
        view = item["introspectable"]
        if view.get("judge") and rules_of(route_of(view["route_name"])).guard is None:
            limits[view["route_name"]] = view.get("rate_limit")
    assert limits["authsite.register"] == "register-address"
    assert None not in limits.values()


def test_a_user_who_has_to_prove_a_factor_first_is_not_asked_for_the_password(everything):
    add_app(everything, everything.ann)
    path = "/v1/user/password"
    answer = everything.http.put_json(path, {}, headers=everything.headers, status=422)
    assert fields(answer) == ["password"]


def test_every_body_with_a_required_field_says_what_else_is_wrong(everything):
    unjudged = set()
    for item in everything.app.registry.introspector.get_category("views"):
        view = item["introspectable"]
        model = view.get("body") or view.get("form")
        if model is None or not issubclass(model, Body) or view.get("judge"):
            continue
        if view.get("form") and not view.get("show"):
            continue  # what a script asks while a password is typed
        if "grant_type" in model.model_fields:
            continue  # one error_description has them all (RFC 6749, section 5.2)
        required = [each for each in model.model_fields.values() if each.is_required()]
        # The service judges each reason, and whether an action needs one.
        if (required and len(model.model_fields) > 1) or "reason" in model.model_fields:
            unjudged.add(model.__name__)
    assert unjudged <= WITHOUT.keys()
