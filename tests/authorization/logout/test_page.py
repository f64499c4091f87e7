"""The page of ``/oauth/logout`` that asks before the session ends, and its button."""

from urllib.parse import urlencode

import pytest
from webtest import TestApp

from tests.support.authorizing import BASE, application, target_of
from tests.support.pages import csrf_of
from tests.support.signing_out import (
    GOODBYE,
    PATH,
    ask,
    asks,
    hint_of,
    press,
    register,
    sent,
    signed_in,
)
from tests.support.statements import counted


def test_trap_1_after_the_button_a_page_leads_back(issuer, app, tokens):
    """``form-action`` holds for each hop after a form; so 200, never a redirect."""
    done = press(issuer, ask(issuer, client_id=app.client_id))
    assert done.status_int == 200
    assert "Location" not in done.headers
    assert target_of(done) == f"{GOODBYE}?state=st-9"


def test_without_a_hint_the_page_asks(issuer, app, tokens):
    """rp-initiated-logout-no-id-token-hint"""
    page = ask(issuer, client_id=app.client_id)
    assert asks(page)
    assert signed_in(issuer)
    assert target_of(press(issuer, page)) == f"{GOODBYE}?state=st-9"
    assert not signed_in(issuer)
    assert issuer.events().count("session.ended") == 1


def test_without_a_session_the_page_asks_too(issuer, app):
    page = ask(issuer, client_id=app.client_id)
    assert asks(page)
    assert "not signed in" in page.text
    assert target_of(press(issuer, page)) == f"{GOODBYE}?state=st-9"


@pytest.mark.parametrize("query", ["", "state=st-9", "unknown=1&unknown=2"])
def test_with_no_parameters_the_page_asks(issuer, app, tokens, query):
    """rp-initiated-logout-no-params and -only-state"""
    page = issuer.http.get(f"{PATH}?{query}")
    assert asks(page)
    assert press(issuer, page, 303).location == f"{BASE}/?done=signed-out"
    assert not signed_in(issuer)


def test_trap_25_a_post_of_another_site_is_led_to_the_same_get(issuer, app, tokens):
    """It comes without the cookie, and the GET has it."""
    other = TestApp(issuer.app)
    form = sent(hint_of(tokens))
    answer = other.post(PATH, form, headers={"Origin": "https://app.example.org"}, status=303)
    assert answer.location == f"{PATH}?{urlencode(form)}"
    assert signed_in(issuer)
    assert issuer.http.get(answer.location, status=303).location == f"{GOODBYE}?state=st-9"
    assert not signed_in(issuer)


@pytest.mark.parametrize("origin", ["https://evil.example", "null"])
def test_a_form_of_another_site_never_presses_the_button(issuer, app, tokens, origin):
    token = csrf_of(ask(issuer, client_id=app.client_id))
    form = {"decision": "sign_out", "csrf_token": token}
    issuer.http.post(PATH, form, headers={"Origin": origin}, status=303)
    assert signed_in(issuer)


def test_the_button_needs_its_csrf_token(issuer, app, tokens):
    page = ask(issuer, client_id=app.client_id)
    form = {"decision": "sign_out", "csrf_token": "x"}
    again = issuer.http.post(page.request.url, form, status="*")
    assert again.status_int >= 400
    assert 'value="sign_out"' in again.text
    assert signed_in(issuer)


def test_the_page_is_in_the_language_that_is_asked_for(issuer, app, tokens):
    page = ask(issuer, client_id=app.client_id, ui_locales="xx de-AT fr")
    assert '<html lang="de"' in page.text


def test_a_native_program_may_choose_its_port(issuer, ann):
    made = application(issuer, "native", redirect_uris=("http://127.0.0.1/cb",))
    register(issuer, made, "http://127.0.0.1/bye")
    page = ask(
        issuer,
        client_id=made.client_id,
        post_logout_redirect_uri="http://127.0.0.1:4711/bye",
        state=None,
    )
    assert target_of(press(issuer, page)) == "http://127.0.0.1:4711/bye"


def test_asking_writes_nothing(issuer, app, tokens):
    with counted(issuer.database) as statements:
        ask(issuer, client_id=app.client_id)
    assert not [each for each in statements if not each.startswith("SELECT")]
