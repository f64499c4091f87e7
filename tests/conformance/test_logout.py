"""The modules of the test plan "RP-Initiated Logout OP" of the OpenID Foundation, by their names.

OpenID Connect RP-Initiated Logout 1.0, sections 2 and 3.
"""

from urllib.parse import urlencode

import pytest

STATE = "a state of the application"


@pytest.fixture
def signed_in(suite, new_browser):
    """A browser with a session, and the ID token of its sign-in."""
    browser = new_browser()
    tokens, _ = suite.sign_in(browser)
    return browser, tokens["id_token"]


def log_out(suite, browser, **parameters):
    sent = {name: value for name, value in parameters.items() if value is not None}
    query = f"?{urlencode(sent)}" if sent else ""
    return browser.page.goto(f"{suite.metadata['end_session_endpoint']}{query}")


def has_session(suite, browser):
    """Whether the browser is signed in, as the suite sees it: with `prompt=none`."""
    _, back = suite.authorize(browser, prompt="none")
    return "code" in back


def test_oidcc_rp_initiated_logout(suite, signed_in):
    browser, hint = signed_in
    log_out(suite, browser, id_token_hint=hint, post_logout_redirect_uri=suite.bye, state=STATE)
    assert browser.answer(suite.bye) == {"state": STATE}
    assert not has_session(suite, browser)


def test_oidcc_rp_initiated_logout_discovery_endpoint_verification(suite):
    """Section 2.1."""
    assert suite.metadata["end_session_endpoint"].startswith(f"{suite.issuer}/")


@pytest.mark.parametrize("end", ["other", "post_logout_redirect/below"])
def test_oidcc_rp_initiated_logout_bad_post_logout_redirect_uri(suite, signed_in, end):
    """An error page, and no redirect."""
    browser, hint = signed_in
    uri = f"{suite.server.origin}/{end}"
    answer = log_out(suite, browser, id_token_hint=hint, post_logout_redirect_uri=uri, state=STATE)
    assert answer.status == 400
    browser.stays()


def test_oidcc_rp_initiated_logout_no_post_logout_redirect_uri(suite, signed_in):
    browser, hint = signed_in
    log_out(suite, browser, id_token_hint=hint, state=STATE)
    browser.stays()
    assert not has_session(suite, browser)


def test_oidcc_rp_initiated_logout_query_added_to_post_logout_redirect_uri(suite, signed_in):
    browser, hint = signed_in
    answer = log_out(
        suite,
        browser,
        id_token_hint=hint,
        post_logout_redirect_uri=f"{suite.bye}?foo=bar",
        state=STATE,
    )
    assert answer.status == 400
    browser.stays()


def test_oidcc_rp_initiated_logout_bad_id_token_hint(suite, signed_in):
    browser, _ = signed_in
    answer = log_out(
        suite, browser, id_token_hint="1234567890", post_logout_redirect_uri=suite.bye, state=STATE
    )
    assert answer.status == 400
    browser.stays()
    assert has_session(suite, browser)


def test_oidcc_rp_initiated_logout_modified_id_token_hint(suite, signed_in):
    """The signature of another token."""
    browser, hint = signed_in
    head, payload, signature = hint.split(".")
    modified = f"{head}.{payload}.{signature[:-10]}{signature[-10:].swapcase()}"
    answer = log_out(
        suite, browser, id_token_hint=modified, post_logout_redirect_uri=suite.bye, state=STATE
    )
    assert answer.status == 400
    browser.stays()
    assert has_session(suite, browser)


def test_oidcc_rp_initiated_logout_no_id_token_hint(suite, signed_in):
    """Asked first; without a `client_id` there is no way back."""
    browser, _ = signed_in
    log_out(suite, browser, post_logout_redirect_uri=suite.bye, state=STATE)
    browser.stays()


def test_oidcc_rp_initiated_logout_no_params(suite, signed_in):
    browser, _ = signed_in
    log_out(suite, browser)
    browser.stays()
    browser.person.press("button[name=decision][value=sign_out]")
    browser.page.wait_for_load_state()
    assert not has_session(suite, browser)


def test_oidcc_rp_initiated_logout_no_state(suite, signed_in):
    browser, hint = signed_in
    log_out(suite, browser, id_token_hint=hint, post_logout_redirect_uri=suite.bye)
    assert browser.answer(suite.bye) == {}
    assert not has_session(suite, browser)


def test_oidcc_rp_initiated_logout_only_state(suite, signed_in):
    browser, _ = signed_in
    log_out(suite, browser, state=STATE)
    browser.stays()
    browser.person.press("button[name=decision][value=sign_out]")
    browser.page.wait_for_load_state()
    assert not has_session(suite, browser)
