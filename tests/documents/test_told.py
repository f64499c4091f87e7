"""Every answer about a client that a document describes names its URL."""

import pytest

from tests.support.applications import resource
from tests.support.authorizing import code_for, redeemed
from tests.support.codes import claims_of
from tests.support.site import bearer

API = "https://mcp.example.com/"
SCOPE = "openid notes:read offline_access"


@pytest.mark.parametrize("kind", ["opaque", "jwt"])
def test_a_resource_is_told_the_url(issuer, ann, there, kind):
    server = issuer.client("resource-server")
    resource(issuer, API, "notes:read", server, tokens=kind)
    app = there.application
    code = code_for(issuer, app, scope=SCOPE, resource=API)
    tokens = redeemed(issuer, app, code, client_secret=None)
    form = {"grant_type": "refresh_token", "refresh_token": tokens["refresh_token"]}
    renewed = issuer.http.post("/v1/oauth/token", {**form, "client_id": there.url}).json
    for each in (tokens, renewed):
        if kind == "jwt":
            assert claims_of(each["access_token"])["client_id"] == there.url
    told = issuer.introspect(server, renewed["access_token"])
    assert (told["active"], told["client_id"], told["aud"]) == (True, there.url, API)


def test_a_guard_is_told_the_url(issuer, ann, there):
    app = there.application
    code = code_for(issuer, app, scope="openid notes:read")
    tokens = redeemed(issuer, app, code, client_secret=None)
    answer = issuer.http.get(
        "/v1/guard/api?scope=notes:read", headers=bearer(tokens["access_token"])
    )
    assert answer.headers["X-Auth-Client"] == there.url


def test_the_user_is_told_the_url_and_can_withdraw_it(issuer, ann, there):
    code_for(issuer, there.application)
    headers = bearer(issuer.login(issuer.client())["access_token"])
    [item] = issuer.http.get("/v1/user/consents", headers=headers).json
    assert (item["verified"], item["document"]) == (False, there.url)
    issuer.http.delete(f"/v1/user/consents/{item['client_id']}", headers=headers, status=204)
    assert issuer.http.get("/v1/user/consents", headers=headers).json == []
