"""POST /v1/oauth/device: what a tool is told, and what it may ask for (RFC 8628, section 3.1)."""

import re
from uuid import uuid4

import pytest

from authsite.oauth.device import service
from authsite.oauth.models import ORIGIN, ClientUri
from tests.support.applications import resource
from tests.support.authorizing import BASE, OPENID, application
from tests.support.devices import PAGE, poll, rows, start, tool

LETTERS = "BCDFGHJKLMNPQRSTVWXZ"


def test_the_answer(site):
    app = tool(site)
    answer = start(site, app)
    code = answer["user_code"]
    assert re.fullmatch(f"[{LETTERS}]{{4}}-[{LETTERS}]{{4}}", code)
    assert answer.pop("device_code").startswith("dc_")
    assert 598 <= answer.pop("expires_in") <= 601
    assert answer == {
        "user_code": code,
        "verification_uri": PAGE,
        "verification_uri_complete": f"{PAGE}?user_code={code}",
        "interval": 5,
    }
    [row] = rows(site)
    assert (row.scope, row.audience, row.user_id) == ("openid email", None, None)
    assert code not in row.user_code
    assert code.replace("-", "") not in row.user_code
    assert row.address == "192.0.2.1"


def test_codes_use_all_letters_and_no_other_ones():
    codes = "".join(service.new_user_code() for _ in range(300))
    assert set(codes) == {*LETTERS, "-"}


@pytest.mark.parametrize(
    "typed",
    ["BCDF-GHJK", "bcdfghjk", " b c d f\tg h j k ", "Bcdf–Ghjk", "BCDF_GHJK", "BC-DF-GH-JK"],
)
def test_any_case_and_spacing_is_the_same_code(typed):
    assert service.shown(typed) == "BCDF-GHJK"


@pytest.mark.parametrize("typed", ["", "BCDF-GHJ", "BCDF-GHJKL", "ACDF-GHJK", "BCDF-GHJ0"])
def test_other_texts_are_none(typed):
    assert service.shown(typed) is None


def test_scopes_are_decided_as_at_the_authorization_endpoint(site):
    app = tool(site, scope="wiki:read", default_scope="wiki:read")
    start(site, app, scope="openid wiki:read other")
    start(site, app, scope=None)
    assert [row.scope for row in rows(site)] == ["openid wiki:read", "wiki:read"]
    assert start(site, app, 400, scope="other")["error"] == "invalid_scope"
    assert start(site, app, 400, scope="openid account")["error"] == "invalid_scope"
    assert len(rows(site)) == 2


def test_a_resource_is_known(site):
    app, uri = tool(site), "https://api.example.com/"
    assert start(site, app, 400, resource=uri)["error"] == "invalid_target"
    resource(site, uri, "wiki:read")
    start(site, app, resource="https://API.example.com")
    assert rows(site)[-1].audience == uri


def test_the_client_is_identified_as_at_the_token_endpoint(site):
    app = tool(site)
    assert start(site, app, 401, client_id="nobody")["error"] == "invalid_client"
    assert start(site, app, 401, client_secret="x")["error"] == "invalid_client"
    answer = site.http.post(f"{BASE}/v1/oauth/device?client_id=x", {}, status=400).json
    assert answer["error"] == "invalid_request"
    assert rows(site) == []


@pytest.mark.parametrize("type", ["server", "browser"])
def test_only_a_type_with_the_grant_may(site, type):
    app = application(site, type)
    secret = {"client_secret": app.client_secret} if type == "server" else {}
    assert start(site, app, 400, **secret)["error"] == "unauthorized_client"
    assert poll(site, app, "dc_x", 400, **secret)["error"] == "unauthorized_client"


def test_a_client_with_a_secret_may_have_the_grant(site):
    """`grant_types` of an import; the secret is then required."""
    app = application(site, "server", grant_types="urn:ietf:params:oauth:grant-type:device_code")
    assert start(site, app, 401)["error"] == "invalid_client"
    start(site, app, client_secret=app.client_secret)


def test_there_is_a_limit_for_each_client_and_address(site_with):
    site = site_with(**OPENID, limits="on", **{"limits.device_start": "2/hour"})
    app = tool(site)
    start(site, app)
    start(site, app)
    assert start(site, app, 429)["error"] == "too_many_attempts"
    start(site, tool(site))
    assert len(rows(site)) == 3


def test_without_openid_there_is_none(site_with):
    site = site_with()
    site.http.post("/v1/oauth/device", {}, status=404)
    site.http.get("/device", status=404)
    found = site.http.get("/.well-known/oauth-authorization-server").json
    assert not any("device" in grant for grant in found["grant_types_supported"])
    assert "device_authorization_endpoint" not in found


def test_the_metadata_name_it(site):
    found = site.http.get(f"{BASE}/.well-known/openid-configuration").json
    assert found["device_authorization_endpoint"] == f"{BASE}/v1/oauth/device"
    assert "urn:ietf:params:oauth:grant-type:device_code" in found["grant_types_supported"]


def test_scripts_of_a_browser_client_may_read_the_answer(site):
    page = application(site, "browser")
    origin = "https://page.example.org"
    with site.db() as db:
        db.add(ClientUri(id=uuid4(), client_id=page.id, kind=ORIGIN, uri=origin, position=0))
    form = {"client_id": tool(site).client_id, "scope": "openid"}
    answer = site.http.post(f"{BASE}/v1/oauth/device", form, headers={"Origin": origin})
    assert answer.headers["Access-Control-Allow-Origin"] == origin
    assert "Access-Control-Allow-Credentials" not in answer.headers
    other = {"Origin": "https://other.example.org"}
    answer = site.http.post(f"{BASE}/v1/oauth/device", form, headers=other, status=403)
    assert answer.json["error"] == "cross_origin"
    assert "Access-Control-Allow-Origin" not in answer.headers
