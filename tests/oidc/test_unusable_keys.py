"""What goes on with signing keys that no sealing key opens, and what does not."""

from urllib.parse import urlencode

import pytest
from sqlalchemy import update

from authsite.oauth.oidc.keys.ring import ring_of
from authsite.oauth.oidc.keys.stored import SigningKey
from tests.support.authorizing import (
    BASE,
    OPENID,
    answer_of,
    application,
    authorize,
    code_for,
    parameters,
    redeemed,
)
from tests.support.pages import csrf_of
from tests.support.site import ClientKeys, bearer

USERINFO, LOGOUT = f"{BASE}/v1/oauth/userinfo", f"{BASE}/oauth/logout"


def forget(site):
    """The site reads its keys again."""
    ring_of(site.app.registry["authsite"]).forget()


def keys_of(app):
    return ClientKeys(app.client_id, app.client_secret)


@pytest.fixture
def site(site_with):
    """A site where Ann may sign in to applications."""
    site = site_with(**OPENID)
    forget(site)
    site.user(confirmed=True)
    return site


@pytest.fixture
def app(site):
    return application(site)


@pytest.fixture
def tokens(site, app):
    """Ann's tokens, from before the keys could not be read any more."""
    return redeemed(site, app, code_for(site, app))


@pytest.fixture
def lose(site, app, tokens):
    """A function after which no private part can be read."""

    def lost():
        with site.db() as db:
            db.execute(update(SigningKey).values(private="unreadable"))
        forget(site)

    yield lost
    forget(site)


def test_a_code_is_not_redeemed_and_stays_as_it_is(site, app, lose):
    code = code_for(site, app)
    with site.db() as db:
        kept = {key.kid: key.private for key in db.query(SigningKey)}
    lose()
    assert redeemed(site, app, code, status=503)["error"] == "temporarily_unavailable"
    with site.db() as db:
        for key in db.query(SigningKey):
            key.private = kept[key.kid]
    forget(site)
    assert redeemed(site, app, code)["id_token"]


def test_userinfo_says_that_it_is_unavailable(site, tokens, lose):
    headers = bearer(tokens["access_token"])
    site.http.get(USERINFO, headers=headers)
    lose()
    for ask in (site.http.get, site.http.post):
        answer = ask(USERINFO, headers=headers, status=503)
        assert answer.json["errors"][0]["code"] == "temporarily_unavailable"
        assert answer.headers["Retry-After"] == "60"


def test_the_authorization_endpoint_answers_with_a_page(site, app, lose):
    """No person comes back to an application with a code that it cannot redeem."""
    lose()
    silent = authorize(site, app, prompt="none")
    assert answer_of(silent)["error"] == "temporarily_unavailable"
    for changed in ({}, {"prompt": "login"}):
        page = authorize(site, app, **changed)
        assert (page.status_int, page.content_type) == (503, "text/html")
        assert "Location" not in page.headers
    form = {
        **parameters(app),
        "decision": "allow",
        "csrf_token": csrf_of(site.http.get(f"{BASE}/account")),
    }
    page = site.http.post(f"{BASE}/oauth/authorize", form, status=503)
    assert page.content_type == "text/html"
    plain = authorize(site, app, scope="email", prompt="none")
    assert answer_of(plain)["code"]  # its answer has no ID token


def test_the_logout_endpoint_answers_with_a_page(site, app, tokens, lose):
    lose()
    for query in ({}, {"client_id": app.client_id}, {"id_token_hint": tokens["id_token"]}):
        page = site.http.get(f"{LOGOUT}?{urlencode(query)}", status=503)
        assert page.content_type == "text/html"
    page = site.http.post(LOGOUT, {"decision": "sign_out"}, status=503)
    assert page.content_type == "text/html"
    assert site.introspect(keys_of(app), tokens["access_token"])["active"]


def test_metadata_and_keys_are_published_as_before(site, lose):
    paths = [f"/.well-known/{name}" for name in (
        "oauth-authorization-server", "openid-configuration", "jwks.json"
    )]  # fmt: skip
    before = [site.http.get(f"{BASE}{path}").json for path in paths]
    lose()
    assert [site.http.get(f"{BASE}{path}").json for path in paths] == before


def test_tokens_go_on_without_a_new_id_token(site, app, tokens, lose):
    lose()
    refreshed = site.refresh(keys_of(app), tokens["refresh_token"])
    assert "id_token" not in refreshed
    assert site.introspect(keys_of(app), refreshed["access_token"])["active"]
    again = redeemed(site, app, code_for(site, app, scope="email"))
    assert site.introspect(keys_of(app), again["access_token"])["active"]


def test_logins_without_openid_go_on(site, lose):
    lose()
    keys = site.client()
    tokens = site.login(keys)
    site.me(site.refresh(keys, tokens["refresh_token"])["access_token"])
    site.http.get(f"{BASE}/account", status=200)
    site.http.get(f"{BASE}/logout", status=200)
