"""A client that a document describes signs a user in."""

from urllib.parse import urlencode

import pytest

from authsite.oauth.models import Client
from tests.documents.conftest import ALL
from tests.support.authorizing import (
    BASE,
    answer_of,
    asks_consent,
    authorize,
    code_for,
    leads_to,
    log_in,
    parameters,
    press,
    redeemed,
    sign_in,
    target_of,
)
from tests.support.codes import claims_of
from tests.support.documents import CALLBACK, HOST
from tests.support.site import bearer

FORM = {"client_secret": None}


def rows(site):
    with site.db() as db:
        return db.query(Client).all()


def test_the_whole_way(issuer, ann, there):
    """Its id is the URL, wherever it is told: an application compares it with its own."""
    app = there.application
    answer = authorize(issuer, app, scope="openid email notes:read")
    assert leads_to(answer) == "/login"
    assert there.fetched == 0
    login = issuer.http.get(target_of(answer))
    assert "Notes" not in login.text
    assert HOST not in login.html.find("main").text
    page = log_in(issuer, answer)
    assert there.fetched == 1
    text = " ".join(page.html.text.split())
    assert "This application is not verified by" in text
    assert f"It is described by {HOST}" in text
    assert answer_of(page).keys() >= {"code"} if target_of(page) else True
    code = answer_of(press(issuer, page))["code"]
    tokens = redeemed(issuer, app, code, **FORM)
    claims = claims_of(tokens["id_token"])
    assert (claims["aud"], claims["sub"]) == (there.url, str(ann.id))
    assert issuer.http.get("/v1/oauth/userinfo", headers=bearer(tokens["access_token"])).json[
        "email"
    ]
    renewed = issuer.http.post(
        "/v1/oauth/token",
        {
            "grant_type": "refresh_token",
            "refresh_token": tokens["refresh_token"],
            "client_id": there.url,
        },
    ).json
    assert claims_of(renewed["id_token"])["aud"] == there.url
    issuer.http.post("/v1/oauth/revoke", {"token": renewed["access_token"], "client_id": there.url})
    issuer.http.get("/v1/oauth/userinfo", headers=bearer(renewed["access_token"]), status=401)
    assert there.fetched == 1
    [row] = rows(issuer)
    assert (row.type, row.document_uri, row.name) == ("document", there.url, "Notes")
    assert row.used_at is not None
    assert issuer.events().count("client.registered") == 1


def test_the_other_endpoints_fetch_nothing(issuer, there):
    """Nor does the page before the login, as `test_the_whole_way` shows."""
    form = {"grant_type": "authorization_code", "code": "ac_x", "client_id": there.url}
    assert issuer.http.post("/v1/oauth/token", form, status=401).json["error"] == "invalid_client"
    issuer.http.post("/v1/oauth/revoke", {"token": "at_x", "client_id": there.url}, status=401)
    issuer.http.get(f"{BASE}/oauth/logout?{urlencode({'client_id': there.url})}", status=400)
    query = urlencode(parameters(there.application))
    issuer.http.get(f"{BASE}/login?{urlencode({'next': '/oauth/authorize?' + query})}")
    issuer.http.get(f"{BASE}/register?{urlencode({'next': '/oauth/authorize?' + query})}")
    assert there.fetched == 0
    assert rows(issuer) == []


def test_the_id_of_the_row_is_no_id_of_the_client(issuer, ann, there):
    code = code_for(issuer, there.application)
    [row] = rows(issuer)
    answer = redeemed(issuer, there.application, code, client_id=str(row.id), status=401, **FORM)
    assert answer["error"] == "invalid_client"
    assert authorize(issuer, there.application, client_id=str(row.id)).status_int == 400
    answer = redeemed(issuer, there.application, code, client_secret="x", status=401)
    assert answer["error"] == "invalid_client"
    redeemed(issuer, there.application, code, **FORM)


def test_prompt_none_never_leads_on(issuer, ann, there):
    """Nor does anything else without a press: a link to us is none to a stranger's host."""
    app = there.application
    signed_out = authorize(issuer, app, prompt="none")
    assert (signed_out.status_int, target_of(signed_out)) == (400, None)
    assert there.fetched == 0
    code_for(issuer, app)
    for changed in ({"prompt": "none"}, {"scope": "openid account"}, {"response_type": "token"}):
        answer = authorize(issuer, app, **changed)
        assert (answer.status_int, target_of(answer)) == (400, None)
        assert "has not verified this application" in answer.text
        assert f"leads to {HOST}" in " ".join(answer.html.text.split())
    again = authorize(issuer, app)
    assert asks_consent(again)


def test_a_program_may_choose_the_port(issuer, ann, there):
    uri = "http://localhost:51823/callback"
    assert code_for(issuer, there.application, redirect_uri=uri)
    answer = authorize(issuer, there.application, redirect_uri="http://localhost:51823/other")
    assert (answer.status_int, target_of(answer)) == (400, None)


def test_a_long_request_from_another_site_is_kept_before_the_client_is_known(issuer, ann, there):
    asked = parameters(there.application, state="s" * 1900)
    headers = {"Origin": "https://client.example"}
    answer = issuer.http.post(f"{BASE}/oauth/authorize", asked, headers=headers, status=303)
    answer = issuer.http.get(answer.location, status=302)
    assert there.fetched == 0
    page = log_in(issuer, answer)
    assert answer_of(press(issuer, page))["state"] == "s" * 1900


def test_scopes_are_those_of_the_setting(issuer, ann, there):
    there.document["scope"] = "notes:read billing openid"
    sign_in(issuer)
    assert asks_consent(authorize(issuer, there.application, scope="openid notes:read"))
    assert rows(issuer)[0].scope == "notes:read openid"
    refused = authorize(issuer, there.application, scope="openid billing")
    assert refused.status_int == 400
    assert "This client may not have: billing." in refused.text


def test_a_logout_by_its_url_has_a_page_and_no_way_back(issuer, ann, there):
    tokens = redeemed(issuer, there.application, code_for(issuer, there.application), **FORM)
    asked = {"id_token_hint": tokens["id_token"], "client_id": f"{there.url}x"}
    other = issuer.http.get(f"{BASE}/oauth/logout?{urlencode(asked)}", status=400)
    assert "not the one" in other.text
    asked = {"id_token_hint": tokens["id_token"], "post_logout_redirect_uri": CALLBACK}
    issuer.http.get(f"{BASE}/oauth/logout?{urlencode(asked)}", status=400)
    asked = {"id_token_hint": tokens["id_token"], "client_id": there.url}
    page = issuer.http.get(f"{BASE}/oauth/logout?{urlencode(asked)}", status=200)
    assert 'value="sign_out"' in page.text


@pytest.mark.parametrize("hosts", ["off", "other.example"])
def test_without_the_setting_it_is_an_unknown_client(site_with, there, hosts):
    site = site_with(**{**ALL, "client_id_documents": hosts})
    site.user(confirmed=True)
    sign_in(site)
    answer = authorize(site, there.application)
    assert answer.status_int == 400
    assert "not registered here" in answer.text
    assert there.fetched == 0
    found = site.http.get("/.well-known/openid-configuration").json
    assert ("client_id_metadata_document_supported" in found) == (hosts != "off")


def test_a_host_of_the_setting_may_be_one(site_with, there):
    site = site_with(**{**ALL, "client_id_documents": f"other.example {HOST}"})
    site.user(confirmed=True)
    tokens = redeemed(site, there.application, code_for(site, there.application), **FORM)
    closed = site_with(**{**ALL, "client_id_documents": "off"}, database_url=site.url)
    form = {"grant_type": "refresh_token", "refresh_token": tokens["refresh_token"]}
    closed.http.post("/v1/oauth/token", {**form, "client_id": there.url}, status=401)
