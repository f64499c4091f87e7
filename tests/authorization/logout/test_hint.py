"""A hint that names the session ends it (OpenID Connect RP-Initiated Logout 1.0, section 2)."""

from urllib.parse import urlencode

import pytest
from webtest import TestApp

from authsite.oauth.models import Client
from tests.support.authorizing import (
    BASE,
    application,
    code_for,
    redeemed,
    sign_in,
    target_of,
)
from tests.support.signing_out import (
    GOODBYE,
    OTHER,
    PATH,
    ask,
    asks,
    hint,
    hint_of,
    press,
    sent,
    signed_in,
)


def test_a_valid_hint_ends_the_session_and_leads_back_with_the_state(issuer, app, tokens):
    """rp-initiated-logout"""
    answer = ask(issuer, hint_of(tokens))
    assert (answer.status_int, answer.location) == (303, f"{GOODBYE}?state=st-9")
    assert not signed_in(issuer)
    assert issuer.events().count("session.ended") == 1
    again = ask(issuer, hint_of(tokens))  # with no session here
    assert (again.status_int, again.location) == (303, f"{GOODBYE}?state=st-9")
    assert issuer.events().count("session.ended") == 1


def test_the_tokens_of_the_session_end(issuer, app, tokens):
    assert issuer.http.get(
        f"{BASE}/v1/oauth/userinfo", headers={"Authorization": f"Bearer {tokens['access_token']}"}
    )
    ask(issuer, hint_of(tokens))
    form = {"grant_type": "refresh_token", "refresh_token": tokens["refresh_token"]}
    keys = {"client_id": app.client_id, "client_secret": app.client_secret}
    answer = issuer.http.post(f"{BASE}/v1/oauth/token", {**form, **keys}, status=400)
    assert answer.json["error"] == "invalid_grant"
    headers = {"Authorization": f"Bearer {tokens['access_token']}"}
    issuer.http.get(f"{BASE}/v1/oauth/userinfo", headers=headers, status=401)


def test_trap_8_an_expired_hint_is_as_good(frozen, issuer, app, tokens):
    """The signature counts, ``exp`` does not."""
    frozen.advance(2 * 3600)
    answer = ask(issuer, hint_of(tokens))
    assert (answer.status_int, answer.location) == (303, f"{GOODBYE}?state=st-9")


@pytest.mark.parametrize("state", [None, "", "a b&c=d", "x" * 2048])
def test_the_state_comes_back_as_it_was_sent(issuer, app, tokens, state):
    """rp-initiated-logout-no-state"""
    target = f"{OTHER}&{urlencode({'state': state})}" if state else OTHER
    answer = ask(issuer, hint_of(tokens), post_logout_redirect_uri=OTHER, state=state)
    assert (answer.status_int, answer.location) == (303, target)


def test_without_a_uri_the_session_ends_on_our_page(issuer, app, tokens):
    """rp-initiated-logout-no-post-logout-redirect-uri"""
    answer = ask(issuer, hint_of(tokens), post_logout_redirect_uri=None)
    assert (answer.status_int, answer.location) == (303, f"{BASE}/?done=signed-out")
    assert not signed_in(issuer)


def test_the_client_id_may_agree_with_the_hint(issuer, app, tokens):
    assert ask(issuer, hint_of(tokens), client_id=app.client_id).status_int == 303


def test_a_hint_about_another_session_asks_and_then_leads_back(issuer, app, tokens):
    page = ask(issuer, hint(issuer, app))
    assert asks(page)
    assert "Wiki" in page.text
    assert "ann@example.com" in page.text
    assert signed_in(issuer)
    done = press(issuer, page)
    assert target_of(done) == f"{GOODBYE}?state=st-9"
    assert not signed_in(issuer)


def test_a_head_request_ends_nothing(issuer, app, tokens):
    issuer.http.head(f"{PATH}?{urlencode(sent(hint_of(tokens)))}", status=200)
    assert signed_in(issuer)


def test_without_the_cookie_of_the_session_a_hint_ends_the_tokens_of_its_own_application(
    issuer, app, tokens
):
    """The server of any application has its ID tokens, and an image can send the request, too."""
    shop = application(issuer, name="Shop", first_party=True)
    others = redeemed(issuer, shop, code_for(issuer, shop))
    waiting, waiting_of_shop = code_for(issuer, app), code_for(issuer, shop)
    other = TestApp(issuer.app)
    answer = other.get(f"{PATH}?{urlencode(sent(hint_of(tokens)))}", status=303)
    assert answer.location == f"{GOODBYE}?state=st-9"
    assert signed_in(issuer)
    assert "session.ended" not in issuer.events()
    userinfo(issuer, tokens, 401)
    refreshed(issuer, app, tokens, 400)
    userinfo(issuer, others)
    assert redeemed(issuer, app, waiting, status=400)["error"] == "invalid_grant"
    userinfo(issuer, redeemed(issuer, shop, waiting_of_shop))
    again = redeemed(issuer, app, code_for(issuer, app))
    userinfo(issuer, again)


@pytest.mark.parametrize("here", [True, False])
def test_an_application_that_nobody_has_registered_always_gets_the_page(issuer, app, tokens, here):
    with issuer.db() as db:
        db.get_one(Client, app.id).type = "dynamic"
    asker = issuer.http if here else TestApp(issuer.app)
    query = urlencode(sent(hint_of(tokens), post_logout_redirect_uri=None))
    assert 'value="sign_out"' in asker.get(f"{PATH}?{query}", status=200).text
    assert signed_in(issuer)
    userinfo(issuer, tokens)


def userinfo(issuer, tokens, status=200):
    headers = {"Authorization": f"Bearer {tokens['access_token']}"}
    issuer.http.get(f"{BASE}/v1/oauth/userinfo", headers=headers, status=status)


def refreshed(issuer, app, tokens, status):
    form = {"grant_type": "refresh_token", "refresh_token": tokens["refresh_token"]}
    keys = {"client_id": app.client_id, "client_secret": app.client_secret}
    issuer.http.post(f"{BASE}/v1/oauth/token", {**form, **keys}, status=status)


def test_the_hint_of_a_user_does_not_end_the_session_of_another(issuer, app, tokens):
    issuer.user("bo@example.com", confirmed=True)
    other = TestApp(issuer.app)
    issuer_http, issuer.http = issuer.http, other
    sign_in(issuer, "bo@example.com")
    assert asks(ask(issuer, hint_of(tokens)))
    assert signed_in(issuer)
    issuer.http = issuer_http
    assert signed_in(issuer)
