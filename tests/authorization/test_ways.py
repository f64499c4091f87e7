"""The ways in and out: POST, other addresses, long requests, the login page, providers, explain."""

from urllib.parse import parse_qsl, urlencode, urlsplit

import pytest
from sqlalchemy import func, select

from authsite.platform.audit.models import AuditEvent
from authsite.platform.stored_requests import StoredRequest
from tests.support.authorizing import (
    BASE,
    CALLBACK,
    answer_of,
    application,
    asks_consent,
    authorize,
    code_for,
    follow,
    leads_to,
    log_in,
    parameters,
    press,
    sign_in,
    target_of,
    url_of,
)
from tests.support.pages import csrf_of

LONG = "l" * 3000


def post(site, sent, headers=None):
    return site.http.post(f"{BASE}/oauth/authorize", sent, headers=headers, status="*")


def stored(site):
    with site.db() as db:
        return db.scalar(select(func.count()).select_from(StoredRequest))


@pytest.mark.parametrize(
    "headers",
    [
        {},
        {"Origin": "https://app.example.org"},
        {"Sec-Fetch-Site": "cross-site"},
        {"Origin": "null"},
    ],
)
def test_a_post_leads_to_the_same_get(issuer, app, ann, headers):
    """A form of another site comes without our cookies."""
    code_for(issuer, app)
    answer = post(issuer, parameters(app), headers)
    assert answer.status_int == 303
    assert dict(parse_qsl(urlsplit(answer.location).query)) == parameters(app)
    assert "Set-Cookie" not in answer.headers
    assert answer_of(issuer.http.get(answer.location))["code"]


def test_a_form_of_another_site_cannot_allow(issuer, app, ann):
    sign_in(issuer)
    sent = {**parameters(app), "decision": "allow", "csrf_token": "x"}
    for headers in ({"Origin": "https://evil.example"}, {}):
        shown = follow(issuer, post(issuer, sent, headers))
        assert asks_consent(shown)
    assert "authorization.granted" not in issuer.events()


def test_an_old_page_says_so_and_can_be_sent_again(issuer, app, ann):
    sign_in(issuer)
    shown = authorize(issuer, app)
    stale = {"csrf_token": "00", "decision": "allow"}
    again = issuer.http.post(shown.request.url, stale, status=403)
    assert "open for too long" in again.text
    assert answer_of(press(issuer, again))["code"]


def test_a_press_after_the_session_has_ended_leads_to_the_login(issuer, app, ann):
    sign_in(issuer)
    shown = authorize(issuer, app)
    issuer.http.reset()
    seed = issuer.http.get(f"{BASE}/login")
    form = {"csrf_token": csrf_of(seed), "decision": "allow"}
    answer = issuer.http.post(shown.request.url, form, status="*")
    assert leads_to(answer) == "/login"


def test_a_long_post_is_stored(issuer, app, ann):
    sent = {**parameters(app), "x": LONG}
    answer = post(issuer, sent)
    assert set(dict(parse_qsl(urlsplit(answer.location).query))) == {"_ref"}
    assert stored(issuer) == 1
    consent = log_in(issuer, issuer.http.get(answer.location))
    assert stored(issuer) == 1
    assert answer_of(press(issuer, consent))["code"]


def test_a_long_request_is_stored_for_the_login(issuer, ann):
    ours = application(issuer, first_party=True)
    answer = authorize(issuer, ours, prompt="login", x=LONG)
    assert len(answer.location) < 2048
    assert stored(issuer) == 1
    assert "Sign in to continue to Wiki." in issuer.http.get(answer.location).text
    assert answer_of(log_in(issuer, answer))["code"]


def test_a_stored_request_ends_after_10_minutes(issuer, app, ann, frozen):
    answer = post(issuer, {**parameters(app), "x": LONG})
    frozen.advance(599)
    assert leads_to(issuer.http.get(answer.location)) == "/login"
    frozen.advance(1)
    ended = issuer.http.get(answer.location, status=400)
    assert "This took too long" in ended.text


def test_only_a_reference_of_ours_opens_a_row(issuer, app):
    answer = post(issuer, {**parameters(app), "x": LONG})
    forged = answer.location[:-1] + ("A" if answer.location[-1] != "A" else "B")
    assert issuer.http.get(forged, status=400)
    assert issuer.http.get(f"{BASE}/oauth/authorize?_ref=x", status=400)


def test_what_is_refused_is_not_stored(issuer, app):
    refused = post(issuer, {**parameters(app, response_type="token"), "x": LONG})
    assert answer_of(refused)["error"] == "unsupported_response_type"
    too_long = post(issuer, {**parameters(app), "x": "y" * 9000})
    assert answer_of(too_long)["error_description"].startswith("The request is longer than 8 KiB")
    assert stored(issuer) == 0


@pytest.mark.parametrize("method", ["get", "post"])
def test_nor_is_a_long_request_of_a_client_whose_document_is_not_read_yet(site_with, method):
    site = site_with(base_url=BASE, client_id_documents="client.example")
    sent = {**parameters(application(site)), "client_id": "https://client.example/app"}
    send = getattr(site.http, method)
    refused = send(f"{BASE}/oauth/authorize", {**sent, "x": "y" * 8500}, status=400)
    assert "The request is longer than 8 KiB" in refused.text
    assert stored(site) == 0


def test_stored_requests_are_limited(site_with):
    site = site_with(base_url=BASE, limits="on", **{"limits.authorize_address": "2/minute"})
    app = application(site)
    sent = {**parameters(app), "x": LONG}
    assert [post(site, sent).status_int for _ in range(3)] == [303, 303, 429]


def test_a_body_that_is_no_form(issuer, app):
    url = f"{BASE}/oauth/authorize"
    answer = issuer.http.post_json(url, parameters(app), status=415)
    assert "application/x-www-form-urlencoded" in answer.text


def test_at_another_address_it_leads_to_the_first(site_with):
    site = site_with(base_url=f"{BASE} https://other.example.com")
    app = application(site)
    site.user(confirmed=True)
    query = urlencode(parameters(app))
    answer = site.http.get(f"https://other.example.com/oauth/authorize?{query}")
    assert (answer.status_int, answer.location) == (302, f"{BASE}/oauth/authorize?{query}")
    answer = site.http.post("https://other.example.com/oauth/authorize", parameters(app))
    assert (answer.status_int, answer.location) == (303, f"{BASE}/oauth/authorize?{query}")


def test_head_gives_no_code(issuer, app, ann):
    code_for(issuer, app)
    before = issuer.events()
    answer = issuer.http.head(url_of(app), status=200)
    assert "Location" not in answer.headers
    assert issuer.events() == before


@pytest.mark.parametrize("fetched", ["document", "iframe", "empty", "image"])
def test_the_rows_hold_whatever_asks(issuer, app, ann, fetched):
    headers = {"Sec-Fetch-Dest": fetched, "Accept": "*/*"}
    assert leads_to(authorize(issuer, app, headers=headers)) == "/login"


def test_a_redirect_from_a_form_of_ours_is_a_page(issuer, app, ann):
    """Also where only the header of the browser tells."""
    code_for(issuer, app)
    answer = authorize(issuer, app, headers={"Sec-Fetch-Site": "same-origin"})
    assert answer.status_int == 200
    assert answer_of(answer)["code"]
    assert authorize(issuer, app, headers={"Sec-Fetch-Site": "cross-site"}).status_int == 302


def test_the_login_page_fills_in_the_hint(issuer, app, ann):
    answer = authorize(issuer, app, login_hint='bo@example.com"><b>')
    shown = issuer.http.get(answer.location)
    assert shown.html.find("input", {"name": "username"})["value"] == 'bo@example.com"><b>'
    for ignored in ("x" * 300, "a\x00b"):
        shown = issuer.http.get(authorize(issuer, app, login_hint=ignored).location)
        assert not shown.html.find("input", {"name": "username"}).get("value")


def test_a_foreign_next_names_no_application(issuer, app):
    for target in ("/oauth/authorize", "/oauth/authorize?client_id=x", "/account", "/oauth/x?y"):
        shown = issuer.http.get(f"{BASE}/login?{urlencode({'next': target})}")
        assert "Sign in to continue to the page" in shown.text or "your account" in shown.text


def test_a_login_page_elsewhere_is_not_used(site_with):
    site = site_with(base_url=BASE, login_page_url="https://www.example.com/login")
    assert target_of(authorize(site, application(site))).startswith(f"{BASE}/login?next=")


def test_ui_locales_choose_the_language(issuer, app, ann):
    def language(answer):
        return answer.html.find("html")["lang"]

    answer = authorize(issuer, app, ui_locales="xx de-AT fr")
    assert language(issuer.http.get(answer.location)) == "de"
    refused = authorize(issuer, app, ui_locales="de", redirect_uri=None)
    assert language(refused) in ("en", "de")
    sign_in(issuer)
    assert language(authorize(issuer, app, ui_locales="de")) == "de"
    issuer.http.get(f"{url_of(app, ui_locales='de')}&lang=fr", status=303)  # the person's choice
    assert language(authorize(issuer, app, ui_locales="de")) == "fr"


def test_the_trail_has_both_redirect_uris_and_what_differs(issuer, app):
    refused = authorize(issuer, app, redirect_uri="https://app.example.org/Callback")
    with issuer.db() as db:
        event = db.scalars(select(AuditEvent).order_by(AuditEvent.id)).all()[-1]
    assert event.request_id == refused.headers["X-Request-Id"]
    assert event.client_id == app.id
    assert event.details == {
        "reason": "redirect_uri_mismatch",
        "error": "invalid_request",
        "sent": "https://app.example.org/Callback",
        "nearest": CALLBACK,
        "differs": "case",
    }


def test_without_openid_there_is_no_endpoint(site):
    assert site.http.get("/oauth/authorize", status=404)


def test_what_is_asked_for_besides_what_was_allowed_is_marked(issuer, app, ann):
    sign_in(issuer)
    first = authorize(issuer, app)
    assert first.html.select(".scopes .badge") == []
    press(issuer, first)
    again = authorize(issuer, app, scope="openid email profile")
    marked = [item for item in again.html.select(".scopes > li") if item.select_one(".badge")]
    assert [next(item.stripped_strings) for item in marked] == ["See your username"]
