"""The page for the code: who may answer, what it shows, and that no step can be skipped."""

from urllib.parse import parse_qs, urlsplit

import pytest

from authsite.oauth.consents.service import Consent
from authsite.oauth.models import Client
from authsite.users.models import User
from tests.support.authorizing import BASE, OPENID, follow, log_in, sign_in
from tests.support.codes import codes
from tests.support.devices import (
    PAGE,
    allow,
    deny,
    enter,
    expire,
    poll,
    press,
    refused,
    rows,
    start,
    tool,
)
from tests.support.pages import csrf_of
from tests.support.site import PASSWORD

WRONG = "BBBB-BBBB"


def words(page):
    return " ".join(page.html.select_one("main").get_text(" ").split())


def test_first_the_login_page_and_then_the_code(site):
    app = tool(site)
    started = start(site, app)
    site.http.reset()
    led = site.http.get(started["verification_uri_complete"], status=302)
    assert urlsplit(led.location).path == "/login"
    [back] = parse_qs(urlsplit(led.location).query)["next"]
    assert back == f"/device?user_code={started['user_code']}"
    page = log_in(site, led)
    assert page.html.select_one("#user_code")["value"] == started["user_code"]
    assert rows(site)[0].decided_at is None
    allow(site, started)
    assert poll(site, app, started)["id_token"]


def test_a_form_without_a_session_changes_nothing(site):
    started = start(site, tool(site))
    site.http.reset()
    form = {"user_code": started["user_code"], "decision": "allow"}
    answer = site.http.post(PAGE, form, status="*")
    assert answer.status_int in (302, 303)
    assert rows(site)[0].decided_at is None


def test_a_link_fills_the_code_in_and_skips_nothing(site):
    started = start(site, tool(site))
    page = site.http.get(f"{started['verification_uri_complete']}&decision=allow", status=200)
    assert page.html.select_one("#user_code")["value"] == started["user_code"]
    assert "Did you start this?" not in page.text
    assert rows(site)[0].decided_at is None
    for other in ("%3Cscript%3E", "BCDF-GHJ", "x" * 3000):
        page = site.http.get(f"{PAGE}?user_code={other}", status=200)
        assert page.html.select_one("#user_code").get("value") is None


@pytest.mark.parametrize("token", [None, "x"])
def test_an_answer_without_the_token_of_the_form_is_refused(site, token):
    started = start(site, tool(site))
    form = {"user_code": started["user_code"], "decision": "allow"}
    form |= {"csrf_token": token} if token else {}
    site.http.post(PAGE, form, status=403)
    assert rows(site)[0].decided_at is None


def test_the_question_names_what_is_asked_for_and_from_where(site):
    site.http.extra_environ["HTTP_USER_AGENT"] = "kubelogin/1.0 (Linux)"
    app = tool(site, name="<b>Tool</b><script>alert(1)</script>", scope="wiki:read")
    started = start(site, app, scope="openid email wiki:read offline_access")
    page = enter(site, started["user_code"].replace("-", " ").lower())
    assert "<b>Tool" not in page.text
    assert "<script>alert" not in page.text
    text = words(page)
    assert "<b>Tool</b><script>alert(1)</script> wants to be signed in as you" in text
    for part in (
        "kubelogin on Linux", "192.0.2.1", started["user_code"], "see this code on your own screen",
        "ann@example.com", "E-mail address", "wiki:read", "Keep access after you sign out",
    ):  # fmt: skip
        assert part in text, part
    other = page.html.select_one(".sent-to a")["href"]
    assert "prompt=login" in other
    assert rows(site)[0].decided_at is None
    done = press(site, page, "allow")
    assert "<b>Tool" not in done.text
    assert "close this window" in done.text


@pytest.mark.parametrize("typed", [WRONG, "hello", "", "x" * 200])
def test_a_wrong_code(site, typed):
    page = enter(site, typed, 422)
    assert page.html.select_one("#user_code")["aria-invalid"] == "true"
    assert len(page.html.select("form[action$='/device']")) == 1


def test_an_answered_code_and_an_expired_one(site):
    app = tool(site)
    allowed, denied, expired = (start(site, app) for _ in range(3))
    allow(site, allowed)
    deny(site, denied)
    for started in (allowed, denied):
        assert "used before" in enter(site, started, 422).text
        enter(site, started, 422, decision="deny")
    expire(site)
    assert "expired" in enter(site, expired, 422).text
    enter(site, expired, 422, decision="allow")
    assert [row.approved for row in rows(site)] == [True, False, None]


def test_guesses_are_limited_for_the_user_and_the_address(site_with):
    """A right code, even one that is answered, gives no guess back."""
    site = site_with(**OPENID, limits="on", **{"limits.device_code": "3/15 minutes"})
    site.user(confirmed=True)
    site.user("bob@example.com", confirmed=True)
    sign_in(site)
    started = start(site, tool(site))
    for _ in range(5):
        enter(site, started)  # a right code never counts
    for _ in range(2):
        enter(site, WRONG, 422)
    allow(site, start(site, tool(site)))
    enter(site, WRONG, 422)
    enter(site, started, 429)
    enter(site, started, 429, decision="allow")
    site.http.extra_environ["REMOTE_ADDR"] = "198.51.100.7"
    enter(site, started, 429)  # the user, from anywhere
    site.http.extra_environ["REMOTE_ADDR"] = "192.0.2.1"
    site.http.reset()
    sign_in(site, "bob@example.com")
    enter(site, started, 429)  # anyone, from this address
    site.http.extra_environ["REMOTE_ADDR"] = "198.51.100.8"
    enter(site, started)
    assert rows(site)[0].decided_at is None


def test_a_third_party_gets_a_consent_and_a_first_party_none(site):
    third, first = tool(site), tool(site, first_party=True)
    for app in (third, first):
        allow(site, start(site, app))
    with site.db() as db:
        [consent] = db.query(Consent).all()
    assert (consent.client_id, consent.scope) == (third.id, "openid email")
    assert consent.used_at is not None
    assert "Did you start this?" in enter(site, start(site, third)).text  # a press each time
    page = site.http.get(f"{BASE}/account/security")
    assert "Tool" in page.text


def test_the_answer_is_recorded(site):
    app = tool(site)
    allow(site, start(site, app))
    deny(site, start(site, app))
    events = [name for name in site.events() if name.startswith(("device", "consent"))]
    assert events == ["consent.given", "device.approved", "device.denied"]


def test_a_client_may_ask_for_a_confirmed_address(site_with):
    site = site_with(**OPENID)
    user = site.user()
    sign_in(site)
    app, other = tool(site), tool(site, require_confirmed=False)
    started = start(site, app)
    page = enter(site, started, 403)
    assert "Confirm your address" in page.text
    enter(site, started, 403, decision="allow")
    assert rows(site)[0].decided_at is None
    allow(site, start(site, other))
    with site.db() as db:
        db.get(User, user.id).email_verified_at = user.created_at
    allow(site, started)
    assert poll(site, app, started)


def test_a_client_may_ask_for_a_group(site):
    app = tool(site, require_group="ops")
    started = start(site, app)
    for decision in ("", "allow"):
        page = enter(site, started, 403, decision=decision)
        assert "have access to this application" in page.text
    assert rows(site)[0].decided_at is None
    assert "authorization.refused" in site.events()
    deny_form = {"csrf_token": csrf_of(site.http.get(PAGE)), "user_code": started["user_code"]}
    site.http.post(PAGE, {**deny_form, "decision": "deny"}, status=200)
    assert refused(site, app, started) == "access_denied"


@pytest.mark.parametrize("change", [{"epoch": 1}, {"disabled": True}])
def test_a_client_that_was_changed_begins_again(site, change):
    app = tool(site)
    started = start(site, app)
    with site.db() as db:
        client = db.get(Client, app.id)
        client.epoch += 1
        if "disabled" in change:
            client.disabled_at = client.created_at
    assert "expired" in enter(site, started, 422).text
    enter(site, started, 422, decision="allow")
    assert codes(site) == []


def test_another_user_of_the_browser_answers_as_that_user(site):
    site.user("bob@example.com", confirmed=True)
    app = tool(site)
    started = start(site, app)
    page = enter(site, started)
    led = site.http.get(BASE + page.html.select_one(".sent-to a")["href"], status=200)
    form = next(each for each in led.forms.values() if "password" in each.fields)
    form["username"], form["password"] = "bob@example.com", PASSWORD
    back = follow(site, form.submit(status="*"))
    assert back.html.select_one("#user_code")["value"] == started["user_code"]
    assert "bob@example.com" in enter(site, started).text


def test_an_approval_leaves_the_session_of_the_browser_as_it_is(site):
    """No session is given, renewed or moved: what the tool gets is its own."""
    before = dict(site.http.cookies)
    app = tool(site)
    started = start(site, app)
    allow(site, started)
    assert {**before, **dict(site.http.cookies)} == before
    answer = site.http.post(
        f"{BASE}/v1/oauth/token",
        {
            "grant_type": "urn:ietf:params:oauth:grant-type:device_code",
            "client_id": app.client_id,
            "device_code": started["device_code"],
        },
    )
    assert "Set-Cookie" not in answer.headers
