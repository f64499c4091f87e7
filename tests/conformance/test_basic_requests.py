"""The modules of the test plan "Basic OP" of the OpenID Foundation, by their names: requests.

docs/conformance.md has a row for each one. A FAILURE of the suite is an assertion here.
"""

import time


def test_oidcc_response_type_missing(suite, ann):
    """RFC 6749, section 4.1.2.1."""
    sent, back = suite.authorize(ann, response_type=None)
    assert back["error"] in ("invalid_request", "unsupported_response_type")
    assert back["state"] == sent["state"]


def test_oidcc_ensure_request_without_nonce_succeeds_for_code_flow(suite, ann):
    """Section 3.1.2.1: `nonce` is optional in the code flow."""
    _, claims = suite.sign_in(ann, nonce=None)
    assert "nonce" not in claims


def test_oidcc_display_page(suite, new_browser):
    """Section 3.1.2.1."""
    suite.sign_in(new_browser(), display="page")


def test_oidcc_display_popup(suite, new_browser):
    suite.sign_in(new_browser(), display="popup")


def test_oidcc_prompt_login(suite, new_browser):
    """The login page comes once more, and not for ever."""
    browser = new_browser()
    _, first = suite.sign_in(browser)
    time.sleep(1.1)
    _, second = suite.sign_in(browser, prompt="login")
    assert browser.pages == ["login"]
    assert second["auth_time"] > first["auth_time"]
    assert second["sub"] == first["sub"]


def test_oidcc_prompt_none_not_logged_in(suite, new_browser):
    browser = new_browser()
    sent, back = suite.authorize(browser, prompt="none")
    assert back["error"] in ("login_required", "interaction_required")
    assert back["state"] == sent["state"]
    assert browser.pages == []


def test_oidcc_prompt_none_logged_in(suite, ann):
    _, first = suite.sign_in(ann)
    _, second = suite.sign_in(ann, prompt="none")
    assert ann.pages == []
    for claim in ("sub", "auth_time"):
        assert second[claim] == first[claim]


def test_oidcc_max_age_1(suite, new_browser):
    """Section 3.1.2.1: a sign-in that is older than `max_age` is renewed."""
    browser = new_browser()
    _, first = suite.sign_in(browser)
    time.sleep(2.1)
    _, second = suite.sign_in(browser, max_age="1")
    assert browser.pages == ["verify"]
    assert second["auth_time"] > first["auth_time"]


def test_oidcc_max_age_10000(suite, new_browser):
    browser = new_browser()
    _, first = suite.sign_in(browser)
    _, second = suite.sign_in(browser, max_age="10000")
    assert browser.pages == []
    assert second["auth_time"] == first["auth_time"]


def test_oidcc_ensure_request_with_unknown_parameter_succeeds(suite, ann):
    suite.sign_in(ann, extra="foobar")


def test_oidcc_ensure_request_with_acr_values_succeeds(suite, ann):
    """Voluntary ones that are unknown (section 3.1.2.1)."""
    suite.sign_in(ann, acr_values="https://acr.example.test/1 https://acr.example.test/2")


def test_oidcc_ensure_request_with_valid_pkce_succeeds(suite, ann):
    """RFC 7636, its appendix B."""
    challenge = "E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM"
    verifier = "dBjftJeZ4CVP-mB92K27uhbUJU1p1r_wW1gFWFOEjXk"
    _, back = suite.authorize(ann, code_challenge=challenge, code_challenge_method="S256")
    assert suite.redeem(back["code"], code_verifier=verifier).status_code == 200


def test_oidcc_claims_essential(suite, ann):
    """Skipped by the suite: the parameter `claims` is not announced, and is ignored."""
    assert suite.metadata["claims_parameter_supported"] is False
    suite.sign_in(ann, claims='{"userinfo": {"name": {"essential": true}}}')


def test_oidcc_id_token_hint(suite, new_browser):
    """With `prompt=none` and the hint of the same user (section 3.1.2.1)."""
    browser = new_browser()
    tokens, first = suite.sign_in(browser)
    _, second = suite.sign_in(browser, prompt="none", id_token_hint=tokens["id_token"])
    assert second["sub"] == first["sub"]


def test_oidcc_login_hint(suite, new_browser):
    browser = new_browser()
    browser.open(suite.url(suite.request(login_hint=browser.person.email)))
    assert browser.page.locator("[name=username]").input_value() == browser.person.email
    browser.answer(suite.callback)


def test_oidcc_ui_locales(suite, new_browser):
    """The pages are in the language (section 3.1.2.1)."""
    browser = new_browser()
    browser.open(suite.url(suite.request(ui_locales="de")))
    assert browser.page.locator("html").get_attribute("lang") == "de"
    browser.answer(suite.callback)


def test_oidcc_claims_locales(suite, ann):
    suite.sign_in(ann, claims_locales="se")


def test_oidcc_ensure_registered_redirect_uri(suite, ann):
    """An error page, and no redirect (section 3.1.2.1)."""
    sent = suite.request(redirect_uri=f"{suite.callback}/other")
    answer = ann.page.goto(suite.url(sent))
    assert answer.status == 400
    assert f"{suite.callback}/other" in ann.stays()


def test_oidcc_ensure_post_request_succeeds(suite, ann):
    """A POST from another site has no cookie, and is led to a GET."""
    sent = suite.request()
    fields = "".join(f'<input name="{name}" value="{value}">' for name, value in sent.items())
    target = suite.metadata["authorization_endpoint"]
    form = f'<form method="post" action="{target}">{fields}</form>'
    ann.page.goto(f"{suite.server.origin}/start")
    ann.came_back.clear()
    ann.page.set_content(f"<!doctype html>{form}")
    ann.page.evaluate("document.forms[0].submit()")
    back = ann.answer(suite.callback)
    assert suite.claims(suite.redeem(back["code"]).json(), sent)["sub"] == ann.person.id
    assert ann.pages == []


def test_oidcc_request_uri_unsigned_supported_correctly_or_rejected_as_unsupported(suite, ann):
    """Section 6.2."""
    assert suite.metadata["request_uri_parameter_supported"] is False
    _, back = suite.authorize(ann, request_uri=f"{suite.server.origin}/request.jwt")
    assert back["error"] == "request_uri_not_supported"


def test_oidcc_unsigned_request_object_supported_correctly_or_rejected_as_unsupported(suite, ann):
    """Section 6.1."""
    assert suite.metadata["request_parameter_supported"] is False
    _, back = suite.authorize(ann, request="eyJhbGciOiJub25lIn0.e30.")
    assert back["error"] == "request_not_supported"


def test_oidcc_ensure_request_object_with_redirect_uri(suite, ann):
    """The redirect URI of a request object is not followed."""
    _, back = suite.authorize(ann, request="eyJhbGciOiJub25lIn0.e30.")
    assert back["error"] == "request_not_supported"
