"""A tool asks for its tokens: what it is told, how often it may ask, and once (RFC 8628, 3.5)."""

import pytest

from authsite.oauth.codes.models import AuthorizationCode
from authsite.oauth.codes.service import CODE
from authsite.oauth.device.service import CODE as DEVICE_CODE
from authsite.platform.crypto.sealed import IdText
from tests.support.applications import resource
from tests.support.authorizing import OPENID, application, code_for, redeemed, sign_in
from tests.support.codes import codes
from tests.support.devices import (
    allow,
    deny,
    expire,
    poll,
    ready,
    refused,
    rows,
    start,
    tool,
)


def test_a_tool_that_asks_too_early_has_to_slow_down(frozen, site):
    app = tool(site)
    started = start(site, app)
    assert refused(site, app, started) == "authorization_pending"
    frozen.advance(4)
    assert refused(site, app, started) == "slow_down"
    assert rows(site)[0].interval == 10
    frozen.advance(9)
    assert refused(site, app, started) == "slow_down"
    frozen.advance(15)
    assert refused(site, app, started) == "authorization_pending"
    frozen.advance(15)
    assert refused(site, app, started) == "authorization_pending"
    assert rows(site)[0].interval == 15


def test_a_flood_of_requests_soon_writes_nothing(frozen, site):
    app = tool(site)
    started = start(site, app)
    refused(site, app, started)
    for _ in range(60):
        assert refused(site, app, started) == "slow_down"
    stored = rows(site)[0]
    assert stored.interval == 300
    frozen.advance(1)
    assert refused(site, app, started) == "slow_down"
    assert rows(site)[0].poll_after == stored.poll_after
    frozen.advance(300)
    assert refused(site, app, started) == "authorization_pending"


def test_an_answer_is_told_whatever_the_interval(site):
    app = tool(site)
    started = start(site, app)
    refused(site, app, started)
    allow(site, started)
    assert poll(site, app, started)["access_token"]


def test_a_denial(site):
    app = tool(site)
    started = start(site, app)
    page = deny(site, started)
    assert "close this window" in page.text
    assert refused(site, app, started) == "access_denied"
    assert refused(site, app, started) == "access_denied"
    assert codes(site) == []
    assert site.events()[-1] == "device.denied"


def test_an_expired_code(site):
    app = tool(site)
    waiting, allowed, used = (start(site, app) for _ in range(3))
    for each in (allowed, used):
        allow(site, each)
    poll(site, app, used)
    expire(site)
    assert refused(site, app, waiting) == "expired_token"
    assert refused(site, app, allowed) == "expired_token"
    assert refused(site, app, used) == "invalid_grant"


def test_the_lifetime_is_a_setting(frozen, site_with):
    site = site_with(**OPENID, device_expires_in="1m")
    app = tool(site)
    started = start(site, app)
    assert 58 <= started["expires_in"] <= 61
    frozen.advance(62)
    assert refused(site, app, started) == "expired_token"


def test_a_second_use_ends_the_tokens_of_the_first_one(site):
    app = tool(site)
    started = start(site, app)
    allow(site, started)
    tokens = poll(site, app, started)
    assert refused(site, app, started) == "invalid_grant"
    form = {"grant_type": "refresh_token", "client_id": app.client_id}
    form["refresh_token"] = tokens["refresh_token"]
    assert site.http.post("/v1/oauth/token", form, status=400).json["error"] == "invalid_grant"
    assert site.events().count("code.reused") == 1


def test_another_client_changes_nothing(site):
    app, other = tool(site), tool(site)
    started = start(site, app)
    assert refused(site, other, started) == "invalid_grant"
    allow(site, started)
    assert refused(site, other, started) == "invalid_grant"
    assert poll(site, app, started)["access_token"]
    assert refused(site, other, started) == "invalid_grant"
    assert "code.reused" not in site.events()


@pytest.mark.parametrize("code", ["dc_", "dc_" + "A" * 88, "x"])
def test_what_is_no_device_code_is_refused(site, code):
    assert refused(site, tool(site), code) == "invalid_grant"


def test_without_a_code_the_request_is_malformed(site):
    assert poll(site, tool(site), "", 400)["error"] == "invalid_request"


def test_a_code_of_one_kind_never_opens_the_other(site):
    """Both rows have one id; the text of each is sealed for its own purpose."""
    app, keys = tool(site), site.app.registry["authsite"].keys
    started = start(site, app)
    allow(site, started)
    [row] = codes(site)
    expires = int(row.expires_at.timestamp())
    as_code = CODE.encode(keys, IdText(row.id, expires))
    form = {"client_id": app.client_id, "client_secret": None, "redirect_uri": None}
    for text in (started["device_code"], f"ac_{started['device_code'][3:]}", as_code):
        answer = redeemed(site, app, text, verifier=None, status=400, **form)
        assert answer["error"] == "invalid_grant"
    wiki = application(site, "native", redirect_uris=["http://127.0.0.1/callback"])
    code = code_for(site, wiki)
    [other] = [each for each in codes(site) if each.client_id == wiki.id]
    sealed = DEVICE_CODE.encode(keys, IdText(other.id, expires))
    for text in (code, f"dc_{code[3:]}", sealed):
        assert refused(site, wiki, text) == "invalid_grant"
    assert [each.used_at for each in codes(site)] == [None, None]
    assert poll(site, app, started)["access_token"]


def test_failed_codes_count_in_the_limit_of_clients(site_with):
    site = site_with(**OPENID, limits="on", **{"limits.client_auth": "3/minute"})
    site.user(confirmed=True)
    sign_in(site)
    app = tool(site)
    started = start(site, app)
    for _ in range(3):
        assert refused(site, app, "dc_wrong") == "invalid_grant"
    poll(site, app, "dc_wrong", 429)
    for _ in range(5):
        refused(site, app, started)
    allow(site, started)
    poll(site, app, started)


def test_tokens_for_a_resource(site):
    uri = resource(site, "https://api.example.com/", "wiki:read")
    app = tool(site, scope="wiki:read wiki:edit")
    started = start(site, app, scope="wiki:read wiki:edit", resource=uri)
    allow(site, started)
    answer = poll(site, app, started, 400, resource="https://other.example.com/")
    assert answer["error"] == "invalid_target"
    assert poll(site, app, started, resource=uri)["scope"] == "wiki:read"


def test_what_is_stored_of_the_code(site):
    """The family has the address and the device of the tool, which asks for the tokens itself."""
    app = tool(site)
    site.http.extra_environ["HTTP_USER_AGENT"] = "kubelogin/1.0"
    started = start(site, app, scope="openid offline_access")
    site.http.extra_environ["HTTP_USER_AGENT"] = "Firefox/140.0"
    page = allow(site, started)
    site.http.extra_environ["HTTP_USER_AGENT"] = "kubelogin/1.0"
    ready(site)
    poll(site, app, started)
    [family], [code], [row] = site.families(), codes(site), rows(site)
    assert (code.redirect_uri, code.code_challenge, code.nonce) == ("", None, None)
    assert (code.expires_at, code.client_epoch) == (row.expires_at, row.client_epoch)
    assert (family.agent, family.session_id) == ("kubelogin/1.0", code.session_id)
    assert page.status_int == 200
    events = [name for name in site.events() if name != "session.begun"]
    assert events[-3:] == ["consent.given", "device.approved", "token.issued"]
    with site.db() as db:
        assert db.query(AuthorizationCode).one().used_at == family.created_at
