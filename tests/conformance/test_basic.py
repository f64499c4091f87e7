"""The modules of the test plan "Basic OP" of the OpenID Foundation, by their names: tokens.

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


def test_oidcc_codereuse(suite, ann):
    """RFC 6749, section 4.1.2: a second use is refused."""
    _, back = suite.authorize(ann)
    assert suite.redeem(back["code"]).status_code == 200
    again = suite.redeem(back["code"])
    assert (again.status_code, again.json()["error"]) == (400, "invalid_grant")


@pytest.mark.slow
def test_oidcc_codereuse_30seconds(suite, ann):
    """The tokens of the first use end; the suite waits as long before the second one."""
    _, back = suite.authorize(ann)
    tokens = suite.redeem(back["code"]).json()
    time.sleep(30)
    assert suite.redeem(back["code"]).json()["error"] == "invalid_grant"
    assert suite.userinfo(tokens["access_token"]).status_code == 401


def test_oidcc_server_client_secret_post(suite, ann):
    """Section 9: the secret in the body."""
    sent, back = suite.authorize(ann)
    answer = suite.redeem(back["code"], post=True)
    assert suite.claims(answer.json(), sent)["sub"] == ann.person.id


def test_oidcc_refresh_token(suite, new_browser):
    """Section 12: `iss`, `sub`, `aud` and `auth_time` are those of the first ID token."""
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
