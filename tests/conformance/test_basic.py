"""The modules of the test plan "Basic OP" of the OpenID Foundation, by their names.

docs/conformance.md has a row for each one. A FAILURE of the suite is an assertion here.
"""

import time

import pytest
from joserfc.jwk import KeySet

from tests.support.public_site import NAME

ALL = "openid profile email phone offline_access"


def test_oidcc_server(suite, new_browser):
    """OpenID Connect Core 1.0, section 3.1."""
    browser = new_browser()
    tokens, claims = suite.sign_in(browser)
    assert browser.pages == ["login", "consent"]
    assert claims["sub"] == browser.person.id
    assert suite.userinfo(tokens["access_token"]).json()["sub"] == claims["sub"]


def test_oidcc_response_type_missing(suite, ann):
    """RFC 6749, section 4.1.2.1."""
    sent, back = suite.authorize(ann, response_type=None)
    assert back["error"] in ("invalid_request", "unsupported_response_type")
    assert back["state"] == sent["state"]


def test_oidcc_idtoken_signature(suite, ann):
    """The header has the `kid` of a published key (section 10.1)."""
    tokens, _ = suite.sign_in(ann)
    header = suite.decode(tokens["id_token"]).header
    published = KeySet.import_key_set(suite.http.get(suite.metadata["jwks_uri"]).json())
    assert header["kid"] in [key.kid for key in published.keys]
    assert header["alg"] == "RS256"


def test_oidcc_idtoken_unsigned(suite):
    """Skipped by the suite for a provider that has no `none`: a client cannot ask for it."""
    assert "none" not in suite.metadata["id_token_signing_alg_values_supported"]
    with pytest.raises(AssertionError, match="none"):
        suite.register(id_token_signed_response_alg="none")


def test_oidcc_userinfo_get(suite, ann):
    """Section 5.3.1."""
    tokens, claims = suite.sign_in(ann)
    answer = suite.userinfo(tokens["access_token"])
    assert answer.status_code == 200
    assert answer.headers["Content-Type"].startswith("application/json")
    assert answer.json()["sub"] == claims["sub"]


def test_oidcc_userinfo_post_header(suite, ann):
    tokens, claims = suite.sign_in(ann)
    answer = suite.userinfo(tokens["access_token"], "POST")
    assert answer.json()["sub"] == claims["sub"]


def test_oidcc_userinfo_post_body(suite, ann):
    """WARNING: a token in the body is refused (OAuth 2.1 and RFC 6750, section 2.2, allow this)."""
    tokens, _ = suite.sign_in(ann)
    answer = suite.userinfo(None, "POST", data={"access_token": tokens["access_token"]})
    assert answer.status_code == 401
    assert answer.headers["WWW-Authenticate"].startswith("Bearer")


def test_oidcc_ensure_request_without_nonce_succeeds_for_code_flow(suite, ann):
    """Section 3.1.2.1: `nonce` is optional in the code flow."""
    _, claims = suite.sign_in(ann, nonce=None)
    assert "nonce" not in claims


SCOPES = {
    "profile": {"name", "updated_at"},
    "email": {"email", "email_verified"},
    "phone": {"phone_number", "phone_number_verified"},
}


def about(suite, browser, scope):
    """What userinfo says for a scope."""
    tokens, _ = suite.sign_in(browser, scope=f"openid {scope}")
    assert set(scope.split()) <= set(tokens["scope"].split())
    return suite.userinfo(tokens["access_token"]).json()


def test_oidcc_scope_profile(suite, ann):
    """Section 5.4."""
    found = about(suite, ann, "profile")
    assert found.keys() >= SCOPES["profile"]
    assert not found.keys() & (SCOPES["email"] | SCOPES["phone"])
    assert type(found["updated_at"]) is int


def test_oidcc_scope_email(suite, ann):
    found = about(suite, ann, "email")
    assert (found["email"], found["email_verified"]) == (ann.person.email, True)
    assert not found.keys() & SCOPES["profile"]


def test_oidcc_scope_phone(suite, ann):
    found = about(suite, ann, "phone")
    assert found["phone_number"].startswith("+49301")
    assert found["phone_number_verified"] is False


def test_oidcc_scope_all(suite, ann):
    found = about(suite, ann, "profile email phone")
    assert found.keys() >= set().union(*SCOPES.values())


def test_oidcc_scope_address(suite, ann):
    """Skipped by the suite: the scope is not announced. It is ignored, as section 3.1.2.1 says."""
    assert "address" not in suite.metadata["scopes_supported"]
    tokens, _ = suite.sign_in(ann, scope="openid address")
    assert "address" not in tokens["scope"].split()


def test_oidcc_alternate_happy_flow(suite, ann):
    """Another redirect URI of the same client, with a query (RFC 6749, section 3.1.2)."""
    uri = f"{suite.server.origin}/callback?dummy1=lorem&dummy2=ipsum"
    client = suite.place.client(suite.callback, uri, pkce="optional")
    sent, back = suite.authorize(ann, client, redirect_uri=uri)
    assert (back["dummy1"], back["dummy2"]) == ("lorem", "ipsum")
    assert back["state"] == sent["state"]
    answer = suite.redeem(back["code"], client, redirect_uri=uri)
    assert suite.claims(answer.json(), sent, client)["sub"] == ann.person.id


def test_oidcc_display_page(suite, new_browser):
    """Section 3.1.2.1."""
    suite.sign_in(new_browser(), display="page")


def test_oidcc_display_popup(suite, new_browser):
    suite.sign_in(new_browser(), display="popup")


def test_oidcc_prompt_login(suite, new_browser):
    """Trap 6: the login page comes once more, and not for ever."""
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
    assert browser.pages == ["login"]
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


def test_oidcc_codereuse(suite, ann):
    """RFC 6749, section 4.1.2: a second use is refused."""
    _, back = suite.authorize(ann)
    assert suite.redeem(back["code"]).status_code == 200
    again = suite.redeem(back["code"])
    assert (again.status_code, again.json()["error"]) == (400, "invalid_grant")


@pytest.mark.slow
def test_oidcc_codereuse_30seconds(suite, ann):
    """The tokens of the first use end (trap 5); the suite waits as long before the second one."""
    _, back = suite.authorize(ann)
    tokens = suite.redeem(back["code"]).json()
    time.sleep(30)
    assert suite.redeem(back["code"]).json()["error"] == "invalid_grant"
    assert suite.userinfo(tokens["access_token"]).status_code == 401


def test_oidcc_ensure_registered_redirect_uri(suite, ann):
    """An error page, and no redirect (section 3.1.2.1)."""
    sent = suite.request(redirect_uri=f"{suite.callback}/other")
    answer = ann.page.goto(suite.url(sent))
    assert answer.status == 400
    assert f"{suite.callback}/other" in ann.stays()


def test_oidcc_ensure_post_request_succeeds(suite, ann):
    """Trap 25: a POST from another site has no cookie, and is led to a GET."""
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


def test_oidcc_server_client_secret_post(suite, ann):
    """Section 9: the secret in the body."""
    sent, back = suite.authorize(ann)
    answer = suite.redeem(back["code"], post=True)
    assert suite.claims(answer.json(), sent)["sub"] == ann.person.id


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


def test_oidcc_refresh_token(suite, new_browser):
    """Section 12: `iss`, `sub`, `aud` and `auth_time` are those of the first ID token (trap 15)."""
    browser = new_browser()
    tokens, first = suite.sign_in(browser, scope=ALL, prompt="consent")
    answer = suite.refresh(tokens["refresh_token"])
    assert answer.status_code == 200, answer.text
    second = suite.decode(answer.json()["id_token"]).claims
    for claim in ("iss", "sub", "aud", "auth_time"):
        assert second[claim] == first[claim]
    assert "nonce" not in second
    assert suite.userinfo(answer.json()["access_token"]).status_code == 200
    stolen = suite.refresh(answer.json()["refresh_token"], suite.other)
    assert stolen.json()["error"] == "invalid_grant"


def test_the_provider_is_behind_tls(suite):
    assert suite.issuer.startswith(f"https://{NAME}:")
