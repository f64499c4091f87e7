"""The metadata of an OpenID Provider, at both places (RFC 8414, OpenID Connect Discovery 1.0)."""

import pytest

from tests.oidc.keys.conftest import ISSUER
from tests.support.described import Described

OAUTH, OPENID = "/.well-known/oauth-authorization-server", "/.well-known/openid-configuration"
# Endpoints of other packages, by the routes that they have.
ELSEWHERE = {
    "authorization_endpoint": ("authsite.authorize", "/oauth/authorize"),
    "userinfo_endpoint": ("authsite.oauth.userinfo", "/v1/oauth/userinfo"),
    "end_session_endpoint": ("authsite.oauth.end_session", "/oauth/logout"),
}
PUBLIC = ["client_secret_basic", "client_secret_post", "none"]
SCOPES = ["openid", "profile", "email", "phone", "groups", "offline_access"]


def routes(site):
    found = site.app.registry.introspector.get_category("routes")
    return {each["introspectable"]["name"] for each in found}


@pytest.mark.parametrize("path", [OAUTH, OPENID])
def test_the_document_field_by_field(provider_with, path):
    """S256 and `none` are in both documents."""
    site = provider_with(scopes="notes:read: Read", languages="de en")
    answer = site.http.get(path)
    Described(site).fits(answer, "GET", path)
    there = routes(site)
    expected = {
        "issuer": ISSUER,
        "token_endpoint": f"{ISSUER}/v1/oauth/token",
        "token_endpoint_auth_methods_supported": PUBLIC,
        "introspection_endpoint": f"{ISSUER}/v1/oauth/introspect",
        "introspection_endpoint_auth_methods_supported": PUBLIC[:2],
        "revocation_endpoint": f"{ISSUER}/v1/oauth/revoke",
        "revocation_endpoint_auth_methods_supported": PUBLIC,
        "response_types_supported": ["code"],
        "scopes_supported": [*SCOPES, "notes:read"],
        **{
            name: f"{ISSUER}{below}" for name, (route, below) in ELSEWHERE.items() if route in there
        },
        "device_authorization_endpoint": f"{ISSUER}/v1/oauth/device",
        "jwks_uri": f"{ISSUER}/.well-known/jwks.json",
        "response_modes_supported": ["query"],
        "code_challenge_methods_supported": ["S256"],
        "authorization_response_iss_parameter_supported": True,
        "subject_types_supported": ["public"],
        "id_token_signing_alg_values_supported": ["RS256", "ES256"],
        "prompt_values_supported": ["none", "login", "consent", "select_account", "create"],
        "display_values_supported": ["page"],
        "claim_types_supported": ["normal"],
        "ui_locales_supported": ["de", "en"],
        "claims_parameter_supported": False,
        "request_parameter_supported": False,
        "request_uri_parameter_supported": False,
    }
    found = answer.json
    claims, grants = found.pop("claims_supported"), found.pop("grant_types_supported")
    assert found == expected
    assert {"sub", "iss", "aud", "exp", "iat", "auth_time", "acr", "amr", "sid"} < set(claims)
    assert {"password", "client_credentials", "refresh_token"} <= set(grants)
    assert "implicit" not in grants


def test_without_registration_no_client_is_told_that_it_can_ask_for_one(provider_with):
    found = provider_with(registration="off").http.get(OPENID).json
    assert "create" not in found["prompt_values_supported"]


def test_both_documents_are_the_same_in_all_forms(provider_with):
    site = provider_with(base_url="https://example.com/auth")
    documents = [
        site.http.get(path).json
        for path in (f"/auth{OAUTH}", f"/auth{OPENID}", f"{OAUTH}/auth", f"{OPENID}/auth")
    ]
    assert documents[0]["issuer"] == "https://example.com/auth"
    assert documents[0]["jwks_uri"] == "https://example.com/auth/.well-known/jwks.json"
    assert all(each == documents[0] for each in documents)
    site.http.get(f"{OPENID}/other", status=404)


def test_of_several_addresses_the_first_is_the_issuer_everywhere(provider_with):
    site = provider_with(base_url="https://one.example/a https://two.example")
    for path, host in (
        (f"/a{OPENID}", "one.example"),
        (f"{OPENID}/a", "one.example"),
        (OPENID, "two.example"),
        (OAUTH, "two.example"),
        (OAUTH, "evil.example"),
    ):
        found = site.http.get(path, headers={"Host": host}).json
        assert found["issuer"] == "https://one.example/a"
        assert found["token_endpoint"] == "https://one.example/a/v1/oauth/token"
        assert found["jwks_uri"] == "https://one.example/a/.well-known/jwks.json"


@pytest.mark.parametrize("cors_origins", ["", "https://app.example"])
@pytest.mark.parametrize("path", [OAUTH, OPENID, "/.well-known/jwks.json"])
def test_scripts_of_every_origin_may_read_the_documents(provider_with, path, cors_origins):
    site = provider_with(cors_origins=cors_origins)
    origin = {"Origin": "https://other.example"}
    answer = site.http.get(path, headers=origin)
    unchanged = {**origin, "If-None-Match": answer.headers["ETag"]}
    for each in (answer, site.http.get(path, headers=unchanged, status=304)):
        assert each.headers["Access-Control-Allow-Origin"] == "*"
        assert "Access-Control-Allow-Credentials" not in each.headers
    asked = {**origin, "Access-Control-Request-Method": "GET"}
    preflight = site.http.options(path, headers=asked, status=204)
    assert preflight.headers["Access-Control-Allow-Origin"] == "*"
