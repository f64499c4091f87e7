"""POST /v1/oauth/register: what is registered of what a client says (RFC 7591, section 2)."""

import time

import pytest

from authsite.oauth.models import Client
from tests.registering.conftest import OPEN
from tests.support.authorizing import BASE, CALLBACK, OPENID
from tests.support.described import Described
from tests.support.registering import PATH, post


def test_the_answer_has_everything_that_was_registered(issuer):
    answer = post(
        issuer,
        client_uri="https://app.example.org/",
        policy_uri="https://app.example.org/privacy",
        tos_uri="https://app.example.org/terms",
        logo_uri="https://app.example.org/logo.png",
        scope="openid notes:read billing account admin:users:read",
        contacts=["ann@example.org"],
        software_id="x",
        jwks={"keys": []},
    )
    body = answer.json
    assert answer.headers["Cache-Control"] == "no-store"
    assert abs(body.pop("client_id_issued_at") - time.time()) < 60
    assert len(body.pop("client_secret")) == 43
    with issuer.db() as db:
        row = db.query(Client).one()
    assert body == {
        "client_id": str(row.id),
        "client_secret_expires_at": 0,
        "client_name": "Notes",
        "redirect_uris": [CALLBACK],
        "scope": "openid notes:read",
        "grant_types": ["authorization_code", "refresh_token"],
        "response_types": ["code"],
        "token_endpoint_auth_method": "client_secret_basic",
        "application_type": "web",
        "client_uri": "https://app.example.org/",
        "policy_uri": "https://app.example.org/privacy",
        "tos_uri": "https://app.example.org/terms",
    }
    assert (row.type, row.name, row.first_party, row.logo) == ("dynamic", "Notes", False, None)
    Described(issuer).fits(answer, "POST", PATH)
    assert issuer.events()[-1] == "client.registered"


def test_little_is_needed(issuer):
    body = issuer.http.post_json(f"{BASE}{PATH}", {"redirect_uris": [CALLBACK]}, status=201).json
    assert body["client_name"] == "app.example.org"
    assert body["scope"] == "notes:read notes:write"
    assert "client_secret" in body


def test_a_program_gets_no_secret(issuer):
    body = post(issuer, token_endpoint_auth_method="none").json
    assert body.keys().isdisjoint({"client_secret", "client_secret_expires_at"})
    assert body["token_endpoint_auth_method"] == "none"


@pytest.mark.parametrize(
    ("uris", "kind", "found"),
    [
        (["https://app.example.org/cb"], None, "web"),
        (["http://localhost:33418/", "https://vscode.dev/redirect"], None, "native"),
        (["org.example.app:/cb"], None, "native"),
        (["http://localhost:33418/"], "web", "web"),
        (["https://app.example.org/cb"], "native", "native"),
    ],
)
def test_the_type_is_honored_or_follows_from_the_uris(issuer, uris, kind, found):
    more = {"application_type": kind} if kind else {}
    assert post(issuer, redirect_uris=uris, **more).json["application_type"] == found


@pytest.mark.parametrize(
    "uris",
    [
        [],
        ["https://app.example.org/cb#x"],
        ["http://app.example.org/cb"],
        ["https://*.example.org/cb"],
        ["javascript:alert(1)"],
        ["https://ann@app.example.org/"],
        [CALLBACK, "http://localhost.evil.test/"],
        ["https://app.example.org/" + "x" * 2048],
        "https://app.example.org/cb",
        [7],
        ...,
    ],
)
def test_a_redirect_uri_that_cannot_be_is_named(issuer, uris):
    body = post(issuer, redirect_uris=uris, status=400).json
    assert body["error"] == "invalid_redirect_uri"
    assert "redirect_uris: " in body["error_description"]
    with issuer.db() as db:
        assert db.query(Client).count() == 0


def test_an_application_on_the_web_has_no_scheme_of_its_own(issuer):
    answer = post(issuer, redirect_uris=["org.example.app:/cb"], application_type="web", status=400)
    assert answer.json["error"] == "invalid_redirect_uri"


@pytest.mark.parametrize(
    "metadata",
    [
        {"client_name": "x" * 101},
        {"client_name": "two\nlines"},
        {"client_name": "\u202egpj.exe"},
        {"client_name": "\u3164\u2800"},
        {"client_name": "\u0301"},
        {"client_name": "N" + "\u0301" * 9},
        {"client_name": ["x"]},
        {"client_uri": "http://app.example.org/"},
        {"policy_uri": "javascript:alert(1)"},
        {"tos_uri": "https://ann@app.example.org/"},
        {"grant_types": ["client_credentials"]},
        {"grant_types": "authorization_code"},
        {"response_types": ["token"]},
        {"token_endpoint_auth_method": "private_key_jwt"},
        {"application_type": "desktop"},
        {"scope": 7},
    ],
    ids=str,
)
def test_metadata_that_cannot_be_are_named(issuer, metadata):
    body = post(issuer, **metadata, status=400).json
    assert body["error"] == "invalid_client_metadata"
    assert next(iter(metadata)) in body["error_description"]


@pytest.mark.parametrize(
    "name",
    [
        "Acme Café",
        "acme cafe",
        "ＡＣＭＥ ＣＡＦÉ",
        "Acme Cafe\u0301",
        "AcmeCafe",
        "A\u030acme Café",
    ],
)
def test_no_application_has_the_name_of_the_site(site_with, name):
    site = site_with(**OPEN, site_name="Acme Café")
    body = post(site, client_name=name, status=400).json
    assert body["error"] == "invalid_client_metadata"
    assert "the name of this site" in body["error_description"]
    assert post(site, client_name="Acme Café Notes").json["client_name"] == "Acme Café Notes"


def test_more_grants_than_there_are_do_not_matter(issuer):
    kinds = ["authorization_code", "refresh_token", "implicit", "client_credentials"]
    body = post(issuer, grant_types=kinds, response_types=["code", "token"]).json
    assert body["grant_types"] == ["authorization_code", "refresh_token"]
    assert body["response_types"] == ["code"]


def test_a_form_is_refused(issuer):
    answer = issuer.http.post(f"{BASE}{PATH}", {"redirect_uris": CALLBACK}, status=415)
    assert "application/json" in answer.json["error_description"]


def test_scripts_of_known_origins_may_register(site_with):
    site = site_with(**OPEN, cors_origins="https://app.example.com")
    known = post(site, headers={"Origin": "https://app.example.com"}).headers
    assert known["Access-Control-Allow-Origin"] == "https://app.example.com"
    assert "Access-Control-Allow-Credentials" not in known
    refused = post(
        site, redirect_uris=[], headers={"Origin": "https://app.example.com"}, status=400
    )
    assert refused.headers["Access-Control-Allow-Origin"] == "https://app.example.com"
    other = post(site, headers={"Origin": "https://evil.example"}).headers
    assert "Access-Control-Allow-Origin" not in other


def test_the_metadata_name_the_endpoint_while_it_is_there(site_with, issuer):
    for name in ("oauth-authorization-server", "openid-configuration"):
        found = issuer.http.get(f"{BASE}/.well-known/{name}").json
        assert found["registration_endpoint"] == f"{BASE}{PATH}"
        assert "none" in found["token_endpoint_auth_methods_supported"]
        assert found["code_challenge_methods_supported"] == ["S256"]


@pytest.mark.parametrize("settings", [OPENID, {**OPEN, "openid": "off"}])
def test_by_default_there_is_no_such_endpoint(site_with, settings):
    site = site_with(**settings)
    assert (
        "registration_endpoint"
        not in site.http.get(f"{BASE}/.well-known/oauth-authorization-server").json
    )
    answer = post(site, status=404)
    assert answer.content_type == "application/json"
