"""The bundled web client's one error, and the calls about passwords and addresses."""

from functools import partial

import pytest
from playwright.sync_api import Route

from tests.system.browser.web import Tabs

pytestmark = pytest.mark.slow

USER_ID = "3f8a1c0e-6b0f-4a53-9d0a-1f2e3d4c5b6a"
SIGNED = f"/v1/email/verify/{USER_ID}/{'ab' * 32}?expires=1790000000&signature={'cd' * 32}"

NO_LINKS = (
    "",
    "javascript:alert(1)",
    "https://evil.example/",
    SIGNED.replace("verify/", "verify/../"),
    SIGNED.partition("?")[0],
    f"{SIGNED}#x",
    f"{SIGNED}&url=https://evil.example",
)


def test_a_wrong_password_is_an_error_with_a_code(tabs):
    tab = tabs.open()
    error = tab.evaluate("outcome(auth.login('ann@example.com', 'not this one'))")
    assert error["name"] == "AuthsiteError"
    assert (error["status"], error["code"], error["codes"]) == (
        400,
        "invalid_grant",
        ["invalid_grant"],
    )
    assert (error["errors"], error["fields"]) == ([], {})
    assert error["requestId"]
    assert tab.evaluate("[auth.signedIn, changes]") == [False, ["none"]]


def test_mistakes_in_fields_stand_under_their_names(tabs):
    tab = tabs.open()
    error = tab.evaluate("outcome(auth.register({ email: 'ann@example.com', password: '' }))")
    assert (error["status"], error["code"]) == (422, "required")
    assert list(error["fields"]) == ["password"]
    error = tab.evaluate("outcome(auth.register({ email: 'no', password: 'password' }))")
    assert error["errors"]
    assert set(error["fields"]) == {each["field"] for each in error["errors"]}


def test_whoever_registers_is_told_who_they_are_and_logs_in_next(tabs):
    tab = tabs.open()
    fields = {"email": "eve@example.com", "password": "purple wolf 77 tea", "name": "Eve"}
    user = tab.evaluate("(fields) => auth.register(fields)", fields)
    assert (user["email"], user["name"], user["confirmed"]) == ("eve@example.com", "Eve", False)
    assert tab.evaluate("auth.signedIn") is False
    tab.evaluate("auth.login('eve@example.com', 'purple wolf 77 tea')")


ANSWERS = {
    "codes of both shapes": (
        {
            "status": 400,
            "json": {
                "error": "invalid_grant",
                "message": "words",
                "errors": [{"code": "email_not_confirmed", "field": None, "message": "confirm"}],
            },
        },
        {"codes": ["invalid_grant", "email_not_confirmed"], "message": "words", "fields": {}},
    ),
    "a house error without entries": (
        {"status": 401, "json": {"message": "words", "errors": []}},
        {"status": 401, "code": "unauthenticated", "codes": []},
    ),
    "a date to wait for": (
        {
            "status": 503,
            "json": {},
            "headers": {"Retry-After": "Wed, 21 Oct 2015 07:28:00 GMT"},
        },
        {"status": 503, "code": "http_503", "retryAfter": 0},
    ),
    "a proxy's own page": ({"status": 502, "body": "<h1>Bad gateway"}, {"code": "http_502"}),
    "a page where JSON should be": (
        {"status": 200, "body": "<h1>Welcome to our Wi-Fi"},
        {"status": 200, "code": "invalid_response"},
    ),
    "JSON of another server": ({"status": 200, "json": {}}, {"code": "invalid_response"}),
}


def test_every_answer_becomes_an_error_that_says_what_it_was(tabs):
    tab = tabs.open()
    for name, (given, expected) in ANSWERS.items():
        tabs.context.route("**/login", partial(Route.fulfill, **given), times=1)
        error = tab.evaluate("auth.login('a', 'b').catch((it) => ({ ...it, message: it.message }))")
        assert {key: error[key] for key in expected} == expected, name
    assert tab.evaluate("auth.signedIn") is False


@pytest.mark.parametrize(("variant", "separator"), [("A", "/"), ("B", "-")])
def test_the_calls_about_passwords_take_the_paths_of_the_variant(
    new_context, strict, variant, separator
):
    tabs = Tabs(new_context(), strict[0], restore=False, variant=variant)
    tab = tabs.open()
    tabs.context.route("**/v1/password*/**", partial(Route.fulfill, json={"message": "done"}))
    tabs.context.route("**/v1/password-*", partial(Route.fulfill, json={"message": "done"}))
    tabs.forget()
    assert tab.evaluate("auth.forgotPassword('ann@example.com')") == {"message": "done"}
    tab.evaluate("auth.forgotPassword('ann@example.com', 'https://app.example.org/reset')")
    fields = {"email": "ann@example.com", "token": "t", "password": "purple wolf 77 tea"}
    tab.evaluate("(fields) => auth.resetPassword(fields)", fields)
    assert tabs.paths("") == [
        f"/v1/password{separator}forgot",
        f"/v1/password{separator}forgot",
        f"/v1/password{separator}reset",
    ]
    asked = [request.post_data_json for request in tabs.sent]
    assert [each.get("reset_url") for each in asked] == [
        f"{strict[0]}/password/reset",
        "https://app.example.org/reset",
        None,
    ]
    assert asked[2] == fields


def test_a_verification_mail_is_asked_for_with_the_token_of_the_user(tabs):
    tab = tabs.signed_in()
    tabs.context.route("**/verification-notification", partial(Route.fulfill, json={}))
    tab.evaluate("auth.sendVerification()")
    sent = tabs.sent[-1]
    assert sent.headers["authorization"].startswith("Bearer at_")
    assert sent.post_data_json == {"verification_url": f"{tabs.origin}/email/verify"}


def test_a_verification_link_is_called_at_our_own_service_whatever_host_it_names(tabs):
    tab = tabs.open()
    tabs.context.route("**/v1/email/verify/**", partial(Route.fulfill, json={"message": "done"}))
    tabs.forget()
    tab.evaluate("(link) => auth.verifyEmail(link)", f"https://evil.example/x{SIGNED}")
    assert [(each.method, each.url) for each in tabs.sent] == [("POST", tabs.origin + SIGNED)]


def test_what_is_no_verification_link_is_never_called(tabs):
    tab = tabs.open()
    tabs.forget()
    for link in NO_LINKS:
        error = tab.evaluate("(link) => outcome(auth.verifyEmail(link))", link)
        assert (error["code"], tabs.sent) == ("invalid_signature", []), link
