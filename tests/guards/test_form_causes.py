"""Why a form is rejected: each cause has its own words on every page, in the log and in audit."""

import re
from urllib.parse import urlsplit
from uuid import uuid4

import pytest

from authsite.admin.audit.service import event_texts
from authsite.platform.audit.models import AuditEvent
from authsite.platform.http.errors import ERROR_OF_REQUEST
from authsite.server.request_log import reason
from authsite.sign_in.sessions.csrf import CsrfCause
from tests.support import administrators
from tests.support.pages import csrf_of, sign_in, submit
from tests.support.site import PASSWORD

SECURE = "https://id.example.org"
WORDS = {
    CsrfCause.FOREIGN_ORIGIN: "Open this page at http://localhost",
    CsrfCause.NO_COOKIE: "did not send back our cookie",
    CsrfCause.OTHER_SESSION: "open for too long",
    CsrfCause.SIGNED_IN: "You are signed in as ann@example.com.",
}
# A foreign POST here comes without our cookies, and leads to the GET, which has them.
LEADS_ON = {"authsite.authorize", "authsite.oauth.end_session"}
# Without the link or the pending sign-in that they belong to, these say that it is over.
OVER = {
    "authsite.account.factors.remaining.remove",
    "authsite.cancel_change.page",
    "authsite.disown.page",
    "authsite.invitation.page",
    "authsite.login.code",
    "authsite.login.factor",
    "authsite.login.factor.mail",
    "authsite.not_me.page",
    "authsite.not_me.password",
    "authsite.register.code",
    "authsite.reset.page",
    "authsite.revert_change.page",
    "authsite.verify.page",
}


def forms(site, user_id):
    """The path of every page that takes a form, by its route; those about a user with this id."""
    introspector = site.app.registry.introspector
    paths = {}
    for item in introspector.get_category("views"):
        view = item["introspectable"]
        methods = view["request_methods"] or ()
        methods = {methods} if isinstance(methods, str) else set(methods)
        if not view["route_name"] or "POST" not in methods:
            continue
        pattern = introspector.get("routes", view["route_name"])["pattern"]
        if not pattern.startswith("/v1"):
            part = user_id if "/users/" in pattern else uuid4()
            paths[view["route_name"]] = re.sub(r"\{.*?\}", str(part), pattern)
    return paths


def audit_rows(site):
    with site.db() as db:
        rows = db.query(AuditEvent).filter_by(event="form.cross_origin")
        services = site.app.registry["authsite"]
        return [
            (row.details, event_texts(services, row)["meaning"])
            for row in rows.order_by(AuditEvent.id)
        ]


def log_line(answer):
    """The reason in the request log."""
    return reason(answer.request.environ[ERROR_OF_REQUEST])


@pytest.fixture
def console(site_with):
    site = site_with(
        openid="on", base_url="http://localhost", email_sign_in="on", **administrators.SETTINGS
    )
    site.root = administrators.signed_in(site, "owner")
    return site


@pytest.mark.control("S04")
@pytest.mark.parametrize("cause", [CsrfCause.FOREIGN_ORIGIN, CsrfCause.OTHER_SESSION])
def test_every_form_says_why_it_was_rejected(console, cause):
    foreign = cause is CsrfCause.FOREIGN_ORIGIN
    headers = {"Origin": "https://evil.example"} if foreign else {}
    paths = forms(console, console.root.id)
    told = set()
    for route, path in paths.items():
        form = {"csrf_token": "0" * 64, "token": "x", "url": "x"}
        answer = console.http.post(path, form, headers=headers, status="*")
        if WORDS[cause] in answer.text:
            assert answer.status_int == 403, route
            told.add(route)
        elif route in LEADS_ON:
            assert answer.status_int == 303
        elif answer.status_int == 404:
            assert route.startswith("authsite.admin."), route
        else:
            assert route in OVER, route
            assert log_line(answer).startswith(str(cause)), route
    assert {"authsite.login.page", "authsite.admin.clients.new", "authsite.account.email"} <= told
    assert "authsite.admin.users.groups" in told
    assert len(told) > 60
    assert console.events().count("form.cross_origin") == 0  # limits are off: none is recorded


@pytest.mark.control("S04")
@pytest.mark.parametrize("path", ["/email/verify", "/email/change/cancel", "/password/reset"])
def test_the_form_of_a_mailed_link_does_not_say_that_the_link_is_dead(site, path):
    """What another origin sent is forgotten, the link with it."""
    form = {"token": "x" * 64, "url": "x", "email": "ann@example.com"}
    page = site.http.post(path, form, headers={"Origin": "http://10.0.0.5:6543"}, status=403)
    assert "Open this page at http://localhost" in page.text
    assert "link" not in page.html.h1.text


@pytest.mark.parametrize("origin", ["http://id.example.org", "https://other.example", "null"])
def test_a_foreign_origin_is_named_with_ours_in_log_and_audit_trail(site_with, origin):
    site = site_with(base_url=f"{SECURE}/auth", limits="on")
    site.user()
    page = submit(site, "/login", headers={"Origin": origin}, username="ann@example.com")
    assert page.status_int == 403
    assert f"Open this page at {SECURE}/auth" in page.text
    assert origin not in page.text
    assert log_line(page) == f"foreign_origin, sent {origin}, expected {SECURE}"
    [(details, meaning)] = audit_rows(site)
    assert details == {"reason": "foreign_origin", "sent": origin, "expected": SECURE}
    assert "base-url" in meaning


def test_an_origin_that_is_no_text_is_shortened_and_escaped_in_the_log(site):
    sent = "http://\x85é" + "x" * 500
    page = site.http.post("/login", {}, headers={"Origin": sent}, status=403)
    line = log_line(page)
    assert line.isascii()
    assert line.isprintable()
    assert len(line) < 300


def test_a_browser_without_cookies_is_told_so(site_with):
    site = site_with(limits="on")
    site.user()
    for path in ("/login", "/register", "/password/forgot"):
        page = site.http.post(path, {"csrf_token": "0" * 64, "email": "a@example.com"}, status=403)
        assert WORDS[CsrfCause.NO_COOKIE] in page.text
        assert log_line(page) == "no_cookie"
        site.http.reset()
    [(details, _)] = audit_rows(site)
    assert details == {"reason": "no_cookie"}


def test_http_under_an_https_base_url_is_named_in_the_log(site_with):
    """The browser takes our cookies with https only, so none comes back."""
    site = site_with(base_url=SECURE)
    http = "http://id.example.org/login"
    token = csrf_of(site.http.get(http, status=200))
    page = site.http.post(http, {"csrf_token": token, "username": "ann"}, status=403)
    assert WORDS[CsrfCause.NO_COOKIE] in page.text
    assert log_line(page) == f"no_cookie, sent http://id.example.org, expected {SECURE}"


def test_a_browser_that_was_restarted_is_not_told_of_cookies(site):
    """It has forgotten the cookie of the form, and kept others."""
    site.user()
    page = site.http.get("/login")
    form = {"csrf_token": csrf_of(page), "username": "ann@example.com", "password": PASSWORD}
    site.http.reset()
    site.http.set_cookie("authsite-language", "en")
    assert WORDS[CsrfCause.OTHER_SESSION] in site.http.post("/login", form, status=403).text


def test_each_cause_is_recorded_once_an_hour(site_with):
    site = site_with(limits="on")
    for _ in range(3):
        site.http.post("/login", {}, headers={"Origin": "https://evil.example"}, status=403)
        site.http.get("/login")
        site.http.post("/login", {}, status=403)
    assert [details["reason"] for details, _ in audit_rows(site)] == [
        "foreign_origin",
        "other_session",
    ]


@pytest.mark.control("S04")
@pytest.mark.parametrize(
    ("path", "fields"),
    [
        ("/login", {"username": "Ann@Example.com", "password": "wrong"}),
        ("/login", {"username": "", "password": ""}),
        ("/login", {"username": "annlee", "password": "wrong"}),
        ("/login/email", {"username": "ann@example.com"}),
        ("/login/passkey", {"credential": "x"}),
        ("/login/factor", {"method": "totp", "code": "1"}),
        ("/register", {"email": "ann@example.com", "password": "purple wolf 77 tea"}),
    ],
)
def test_a_form_of_before_the_sign_in_in_another_tab_goes_on(site_with, path, fields):
    site = site_with(email_sign_in="on", login_identifiers="email username")
    site.user(username="annlee")
    old = csrf_of(site.http.get("/login?next=/account/security"))
    sign_in(site)
    events = site.events()
    form = {"csrf_token": old, "next": "/account/security", **fields}
    answer = site.http.post(path, form, status=303)
    assert urlsplit(answer.location).path == "/account/security"
    assert site.events() == events


@pytest.mark.parametrize("path", ["/login", "/register"])
def test_a_form_of_before_with_another_name_says_who_is_signed_in(site, path):
    site.user()
    site.user("bo@example.com")
    old = csrf_of(site.http.get(path))
    sign_in(site)
    fields = {"username": "bo@example.com", "email": "bo@example.com", "password": PASSWORD}
    form = {"csrf_token": old, "next": "/account/security", **fields}
    page = site.http.post(path, form, status=403)
    assert WORDS[CsrfCause.SIGNED_IN] in page.text
    other = page.html.find("a", string="Use another account")
    assert other["href"] == "/login?next=%2Faccount%2Fsecurity&prompt=login"
    assert 'value="bo@example.com"' in page.text
    if path == "/login":  # the form that is shown is of this session
        page.forms[0]["password"] = PASSWORD
        page.forms[0].submit(status=303)
        assert "bo@example.com" in site.http.get("/account").text


def test_a_form_that_asks_for_a_mail_is_shown_again(site):
    """Going on would leave the person waiting for the mail."""
    site.user()
    old = csrf_of(site.http.get("/password/forgot"))
    sign_in(site)
    form = {"csrf_token": old, "email": "ann@example.com"}
    page = site.http.post("/password/forgot", form, status=403)
    assert WORDS[CsrfCause.SIGNED_IN] in page.text
    page.forms[0].submit(status=303)


def test_a_form_of_before_goes_nowhere_else(site):
    """`next` leads to no other site, and another browser's token is none of before."""
    site.user()
    old = csrf_of(site.http.get("/login"))
    sign_in(site)
    form = {"csrf_token": old, "next": "https://evil.example/"}
    assert site.http.post("/login", form, status=303).location == "http://localhost/account"
    page = site.http.post("/login", {**form, "csrf_token": "0" * 64}, status=403)
    assert WORDS[CsrfCause.OTHER_SESSION] in page.text
