"""What is wrong with a request: a page, or the way back with an error."""

from urllib.parse import urlencode

import pytest

from tests.support.authorizing import (
    BASE,
    CALLBACK,
    answer_of,
    application,
    authorize,
    challenge_of,
    code_for,
    parameters,
    redeemed,
    target_of,
    url_of,
)
from tests.support.codes import claims_of
from tests.support.commands import run  # noqa: F401
from tests.support.pages import csrf_of

TO_THE_APPLICATION = [
    ({"response_type": None}, "invalid_request"),
    ({"response_type": "token"}, "unsupported_response_type"),
    ({"response_type": "code id_token"}, "unsupported_response_type"),
    ({"response_type": ""}, "invalid_request"),
    ({"response_mode": "fragment"}, "invalid_request"),
    ({"response_mode": "form_post"}, "invalid_request"),
    ({"code_challenge": None, "code_challenge_method": None}, "invalid_request"),
    ({"code_challenge": None}, "invalid_request"),
    ({"code_challenge_method": None}, "invalid_request"),
    ({"code_challenge_method": "plain"}, "invalid_request"),
    ({"code_challenge_method": "s256"}, "invalid_request"),
    ({"code_challenge": "short"}, "invalid_request"),
    ({"code_challenge": challenge_of() + "="}, "invalid_request"),
    ({"code_challenge": challenge_of()[:-1] + "+"}, "invalid_request"),
    ({"prompt": "none login"}, "invalid_request"),
    ({"prompt": "none other"}, "invalid_request"),
    ({"max_age": "-1"}, "invalid_request"),
    ({"max_age": "1.5"}, "invalid_request"),
    ({"max_age": "x"}, "invalid_request"),
    ({"max_age": "9" * 17}, "invalid_request"),
    ({"max_age": "\u0661"}, "invalid_request"),
    ({"nonce": "n" * 513}, "invalid_request"),
    ({"nonce": "a\x00b"}, "invalid_request"),
    ({"scope": "openid a\x0bb"}, "invalid_request"),
    ({"scope": 'openid "x"'}, "invalid_request"),
    ({"scope": "openid " + "s" * 1024}, "invalid_request"),
    ({"scope": "email unknown"}, "invalid_scope"),
    ({"scope": "openid account"}, "invalid_scope"),
    ({"scope": "openid admin:users:read"}, "invalid_scope"),
    ({"id_token_hint": "not.one.ofours"}, "invalid_request"),
    ({"resource": "https://api.example.net"}, "invalid_target"),
    ({"request": "eyJhbGciOiJub25lIn0.e30."}, "request_not_supported"),
    ({"request_uri": "https://app.example.org/r"}, "request_uri_not_supported"),
    ({"prompt": "none", "x": "y" * 8192}, "invalid_request"),
]


@pytest.mark.parametrize(("changed", "error"), TO_THE_APPLICATION)
def test_a_fault_leads_back_with_its_error(issuer, app, changed, error):
    answer = authorize(issuer, app, **changed)
    assert answer.status_int == 302
    assert answer.location.startswith(f"{CALLBACK}?")
    back = answer_of(answer)
    assert (back["error"], back["state"], back["iss"]) == (error, "st-1", BASE)
    description = back["error_description"]
    assert description.isascii()
    assert not set('"\\') & set(description)
    assert answer.headers["X-Request-Id"] not in answer.location
    assert issuer.events()[-1] == "authorization.refused"


@pytest.mark.parametrize(
    "changed",
    [
        {"state": "s" * 2049},
        {"state": "a\nb"},
    ],
)
def test_a_state_that_cannot_be_is_not_sent_back(issuer, app, changed):
    back = answer_of(authorize(issuer, app, **changed))
    assert back["error"] == "invalid_request"
    assert "state" not in back


@pytest.mark.parametrize("state", ["s" * 2048, "a&b=c#d %2F+é", '"><script>'])
def test_a_state_comes_back_as_it_was_sent(issuer, app, state):
    back = answer_of(authorize(issuer, app, prompt="none", state=state))
    assert back["state"] == state


@pytest.mark.parametrize(
    "name", ["scope", "state", "nonce", "resource", "prompt", "code_challenge", "response_type"]
)
def test_a_repeated_parameter(issuer, app, name):
    sent = [*parameters(app).items(), (name, "x"), (name, "y")]
    back = answer_of(issuer.http.get(f"{BASE}/oauth/authorize?{urlencode(sent)}"))
    assert back["error"] == "invalid_request"
    assert f"sent the parameter {name} more than once." in back["error_description"]
    assert ("state" in back) is (name != "state")


def test_unknown_parameters_are_ignored_even_if_repeated(issuer, app, ann):
    code_for(issuer, app)
    sent = [*parameters(app).items(), ("x", "1"), ("x", "2"), ("claims", "{}"), ("display", "page")]
    answer = issuer.http.get(f"{BASE}/oauth/authorize?{urlencode(sent)}")
    assert answer_of(answer)["code"]


ON_A_PAGE = [
    ({"client_id": None}, "did not say which application it is"),
    ({"client_id": "no-uuid"}, "not registered here"),
    ({"client_id": "6f9619ff-8b86-4d01-b42d-00cf4fc964f0"}, "not registered here"),
    ({"client_id": "\x00"}, "not registered here"),
    ({"redirect_uri": None}, "did not say where to send you"),
    ({"redirect_uri": f"{CALLBACK}/"}, "not registered"),
    ({"redirect_uri": f"{CALLBACK}?x=1"}, "not registered"),
    ({"redirect_uri": "http://app.example.org/callback"}, "not registered"),
    ({"redirect_uri": "https://app.example.org.evil.test/callback"}, "not registered"),
    ({"redirect_uri": "https://app.example.org@evil.test/callback"}, "not registered"),
    ({"redirect_uri": "//app.example.org/callback"}, "not registered"),
    ({"redirect_uri": "javascript:alert(1)"}, "not registered"),
    ({"redirect_uri": "https://[/callback"}, "not registered"),
    ({"redirect_uri": CALLBACK + "x" * 3000}, "not registered"),
]


@pytest.mark.parametrize(("changed", "words"), ON_A_PAGE)
def test_without_a_client_or_a_redirect_uri_there_is_a_page(issuer, app, changed, words):
    """The order: these come first, whatever else is wrong."""
    for more in ({}, {"response_type": "token", "prompt": "none login", "scope": "openid x"}):
        answer = authorize(issuer, app, **more, **changed)
        assert answer.status_int == 400
        assert target_of(answer) is None
        assert words in answer.text
        assert answer.headers["X-Request-Id"] in answer.text
        assert issuer.events()[-1] == "authorization.refused"
        links = [link["href"] for link in answer.html.find_all("a")]
        assert not any("://" in link or link.startswith("javascript") for link in links)


@pytest.mark.parametrize("name", ["client_id", "redirect_uri"])
def test_these_repeated_are_a_page(issuer, app, name):
    sent = [*parameters(app).items(), (name, parameters(app)[name])]
    answer = issuer.http.get(f"{BASE}/oauth/authorize?{urlencode(sent)}", status=400)
    assert f"sent the parameter {name} more than once." in answer.text


@pytest.mark.parametrize("type", ["password", "personal", "client-credentials"])
def test_a_client_of_another_type_has_no_endpoint(issuer, app, type):
    other = (
        issuer.client(type) if type != "client-credentials" else issuer.client("resource-server")
    )
    assert authorize(issuer, app, client_id=other.client_id).status_int == 400


def test_the_page_shows_what_differs_and_not_what_is_registered(issuer):
    app = application(issuer, redirect_uris=["https://app.example.org/oauth/cb?tenant=7"])
    answer = authorize(issuer, app, redirect_uri="https://app.example.org/oauth/<b>?tenant=7")
    assert answer.status_int == 400
    assert "https://app.example.org/oauth/&lt;b&gt;?tenant=7" in answer.text
    assert "the path" in answer.text
    assert "oauth/cb" not in answer.text


def test_each_part_that_can_differ_has_words(issuer):
    app = application(issuer, redirect_uris=["https://app.example.org/a?b=c"])
    sent = "http://ann@other.test:81/A/x/?b=d"
    page = authorize(issuer, app, redirect_uri=sent).html.find("dl").text
    for words in ("the scheme", "the user name", "the host", "the port", "the path", "the query"):
        assert words in page


def test_the_redirect_uri_may_be_left_out_if_there_is_one_and_no_openid(issuer, ann):
    app = application(issuer)
    assert code_for(issuer, app, redirect_uri=None, scope="email")
    two = application(issuer, redirect_uris=[CALLBACK, "https://b.example.org/"])
    assert authorize(issuer, two, redirect_uri=None, scope="email").status_int == 400


def test_pkce_is_optional_where_the_client_may_do_without(issuer, ann):
    """Optional for a server alone, and a method without a challenge is refused."""
    old = application(issuer, pkce_optional=True)
    none = {"code_challenge": None, "code_challenge_method": None}
    assert code_for(issuer, old, **none)
    for changed in ({"code_challenge": None}, {"code_challenge_method": None}):
        assert answer_of(authorize(issuer, old, **changed))["error"] == "invalid_request"


def test_an_unknown_scope_is_ignored_with_openid(issuer, app, ann):
    assert code_for(issuer, app, scope="openid groups unheard-of")
    page = authorize(issuer, app, scope="openid groups unheard-of phone")
    assert "unheard-of" not in page.html.find("ul", class_="scopes").text


def test_a_scope_of_the_site_needs_the_permission_of_the_client(site_with, ann):
    site = site_with(base_url=BASE, scopes="read: Read\nwrite: Write")
    site.user(confirmed=True)
    reader = application(site, scope="read")
    assert answer_of(authorize(site, reader, scope="openid write"))["error"] == "invalid_scope"
    assert answer_of(authorize(site, reader, scope="write"))["error"] == "invalid_scope"
    assert code_for(site, reader, scope="openid read")


def test_a_nonce_without_openid_is_ignored(issuer, app, ann):
    assert code_for(issuer, app, scope="email", nonce="n" * 4000)


@pytest.mark.parametrize("acr", ["aal1", "urn:mace:incommon:iap:silver", "aal1 phr", ""])
def test_a_level_that_every_sign_in_has_changes_nothing(issuer, app, ann, acr):
    assert code_for(issuer, app, acr_values=acr)


def test_bytes_that_are_no_text(issuer, app):
    answer = issuer.http.get(f"{BASE}/oauth/authorize?client_id=%ff", status=400)
    assert "cannot read the request" in answer.text


def test_the_answer_keeps_the_query_of_the_redirect_uri(issuer):
    app = application(issuer, redirect_uris=["https://app.example.org/cb?tenant=7"])
    answer = authorize(issuer, app, prompt="none")
    assert answer.location.startswith("https://app.example.org/cb?tenant=7&error=login_required&")


def test_refused_requests_are_limited(site_with):
    site = site_with(base_url=BASE, limits="on", **{"limits.authorize_address": "3/minute"})
    app = application(site)
    for _ in range(3):
        assert authorize(site, app, response_type="token").status_int == 302
    assert authorize(site, app, response_type="token").status_int == 429
    assert authorize(site, app).status_int == 302  # an accepted request is not counted


def test_a_stranger_who_denies_stores_nothing(issuer, app):
    """No limit counts that answer, so the audit trail would grow as fast as one can post."""
    token = csrf_of(issuer.http.get(f"{BASE}/login"))
    form = {"csrf_token": token, "decision": "deny"}
    answer = issuer.http.post(url_of(app), form)
    assert answer_of(answer)["error"] == "access_denied"
    assert "authorization.denied" not in issuer.events()


def test_a_default_scope_with_openid_counts_as_asked_for(issuer, ann):
    """The nonce is the application's proof that the ID token answers its request."""
    app = application(issuer, scope="openid email", default_scope="openid email")
    tokens = redeemed(issuer, app, code_for(issuer, app, scope=None))
    assert claims_of(tokens["id_token"])["nonce"] == "no-1"
    refused = authorize(issuer, app, scope=None, redirect_uri=None)
    assert refused.status_int == 400
    assert target_of(refused) is None
