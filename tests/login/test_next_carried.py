"""The page that a user wanted, carried through registering and a reset (pages M5)."""

import re
from pathlib import Path
from urllib.parse import parse_qs, quote, urlsplit

import pytest

import authsite
from tests.login.test_return_to import HOSTILE
from tests.support.mails import link_in
from tests.support.pages import csrf_of, submit
from tests.support.site import PASSWORD

OURS = "http://localhost"
NEW = "green otter 31 rye"
EMAIL = "ann@example.com"
B = {"variant": "B", "require_email_confirmation": "true"}
APP = "https://app.example.org"
WANTED = ["/account?a=b&c=%2F", "/reports;x=\"y,z'", f"{APP}/back?x=1&y=2#z"]
# The pages on the way, and the ways from each of them.
PAGES = {
    "/login": {"/password/forgot", "/register"},
    "/register": {"/login"},
    "/register?done=1": {"/login"},
    "/password/forgot": {"/login"},
    "/password/forgot?sent=1": {"/login", "/password/forgot"},
    "/password/reset": {"/password/forgot"},
    "/password/reset?done=1": {"/login"},
    "/email/link": {"/login"},
    "/email/link?sent=1": {"/login", "/email/link"},
    "/email/verify?url=x": {"/email/link", "/login"},
}
FORMS = {
    "/register": {"email": "bo@example.com", "password": NEW},
    "/password/forgot": {"email": EMAIL},
    "/email/link": {"email": EMAIL},
}


@pytest.fixture(params=["A", "B"])
def site(request, site_with):
    return site_with(return_origins=APP, **(B if request.param == "B" else {}))


def ways(page):
    """The links of a page to others of ours, save the start page: path -> the whole link."""
    links = [link["href"] for link in page.html.select("main a[href]")]
    return {link.partition("?")[0]: link for link in links}


def query(target):
    return f"next={quote(target, safe='')}"


def carried(link):
    """What a link carries as ``next``, or None."""
    return parse_qs(urlsplit(link).query).get("next", [None])[0]


@pytest.mark.parametrize("target", WANTED)
@pytest.mark.parametrize("path", PAGES)
def test_every_way_to_the_login_carries_the_page(site, path, target):
    page = site.http.get(f"{path}{'&' if '?' in path else '?'}{query(target)}", status="*")
    found = ways(page)
    assert {*found} >= PAGES[path]
    for link in found.values():
        assert carried(link) == target
    for form in page.forms.values():
        assert form["next"].value == target


@pytest.mark.parametrize("target", WANTED)
@pytest.mark.parametrize("path", FORMS)
def test_a_form_hands_it_on_and_keeps_it_past_the_mail(site, path, target):
    answer = submit(site, path, next=target, **FORMS[path])
    assert answer.status_int == 303
    assert site.http.get("/login").forms[0]["next"].value == target
    cookie = next(c for c in answer.headers.getall("Set-Cookie") if "authsite-next" in c)
    assert "; HttpOnly" in cookie
    assert "; Max-Age=3600" in cookie
    assert "; SameSite=Lax" in cookie
    followed = site.http.get(answer.location)
    assert carried(ways(followed)["/login"]) == target


def test_an_error_keeps_the_page(site):
    answer = submit(site, "/register", email="no address", password=NEW, next=WANTED[0])
    assert answer.status_int == 422
    assert answer.forms[0]["next"].value == WANTED[0]


def test_a_reset_in_the_same_browser_leads_on(site):
    site.user(confirmed=True)
    submit(site, "/password/forgot", email=EMAIL, next="/account?x=1")
    [mail] = site.mails()
    assert "next" not in mail.as_string()
    shown = site.http.get(link_in(mail))
    form = shown.forms[0]
    form["password"] = NEW
    done = form.submit()
    assert done.location == f"{OURS}/password/reset?done=1&{query('/account?x=1')}"
    login = site.http.get(ways(site.http.get(done.location))["/login"])
    login.forms[0]["username"], login.forms[0]["password"] = EMAIL, NEW
    assert login.forms[0].submit().location == f"{OURS}/account?x=1"
    assert "authsite-next" not in site.http.cookies


def test_a_registration_leads_on_after_its_link(site):
    submit(site, "/register", email=EMAIL, password=NEW, next="/account?x=1")
    [mail] = site.mails()
    assert "next" not in mail.as_string()
    shown = site.http.get(link_in(mail))
    # The browser that has registered is signed in.
    assert shown.forms[0].submit().location == f"{OURS}/account?x=1"


def test_in_another_browser_the_link_leads_to_the_prefilled_login(site):
    submit(site, "/register", email=EMAIL, password=NEW, next="/account?x=1")
    [mail] = site.mails()
    site.http.reset()
    done = site.http.get(link_in(mail)).forms[0].submit()
    way = done.html.select_one("main a")
    assert (way["href"], way.text) == ("/login", "Sign in")
    assert site.http.get("/login").forms[0]["username"].value == EMAIL


def test_asking_anew_for_another_page_forgets_the_former(site):
    submit(site, "/password/forgot", email=EMAIL, next="/account?x=1")
    assert site.http.get("/password/forgot").forms[0]["next"].value == "/account?x=1"
    submit(site, "/password/forgot", email=EMAIL, next="/account?x=2")
    assert site.http.get("/login").forms[0]["next"].value == "/account?x=2"
    submit(site, "/password/forgot", email=EMAIL, next="//evil.example")
    assert "authsite-next" not in site.http.cookies


def test_who_is_signed_in_already_is_sent_on_from_registering_too(site):
    site.user(confirmed=True)
    submit(site, "/login", username=EMAIL, password=PASSWORD)
    assert site.http.get("/register", params={"next": "/a"}).location == f"{OURS}/a"
    assert site.http.get("/register", params={"next": "//b"}).location == f"{OURS}/account"


def test_on_https_no_other_host_can_set_the_cookie(site_with):
    site = site_with(base_url="https://id.example.org")
    answer = submit(site, "/password/forgot", email=EMAIL, next="/account?x=1")
    cookie = next(c for c in answer.headers.getall("Set-Cookie") if "authsite-next" in c)
    assert cookie.startswith("__Host-authsite-next=")
    assert "; secure" in cookie
    assert "; Path=/;" in cookie


@pytest.mark.control("S07")
@pytest.mark.parametrize("path", PAGES)
def test_no_hostile_next_is_carried_by_a_link_or_a_field(site, path):
    for target in HOSTILE:
        page = site.http.get(f"{path}{'&' if '?' in path else '?'}{query(target)}", status="*")
        assert [link for link in ways(page).values() if "next" in link] == [], target
        assert {form["next"].value for form in page.forms.values()} <= {""}, target


@pytest.mark.control("S07")
@pytest.mark.parametrize("path", FORMS)
def test_no_hostile_next_is_handed_on_by_a_form(site_with, path):
    site = site_with(return_origins=APP)
    token = csrf_of(site.http.get(path))
    for number, target in enumerate(HOSTILE):
        fields = {**FORMS[path], "email": f"n{number}@example.com", "csrf_token": token}
        answer = site.http.post(path, {**fields, "next": target}, status=303)
        assert "next" not in answer.location, target
        assert "authsite-next" not in site.http.cookies, target


@pytest.mark.control("S07")
def test_no_hostile_cookie_is_a_target(site):
    for target in HOSTILE:
        site.http.set_cookie("authsite-next", quote(target, safe=""))
        assert site.http.get("/login").forms[0]["next"].value == "", target
    for raw in ("%", "%ff", "%00", "é".encode().decode("latin-1"), "=", '"', "a" * 8000):
        page = site.http.get("/login", headers={"Cookie": f"authsite-next={raw}"})
        assert page.forms[0]["next"].value == "", raw


def test_next_and_the_referer_are_read_in_one_module():
    """The class of the fault: whatever reads a target must pass through the one check."""
    readers = {"next": set(), "Referer": set()}
    top = Path(authsite.__file__).parent
    for path in top.rglob("*.py"):
        text = path.read_text()
        for word, found in readers.items():
            if re.search(rf"get(all)?\(\s*['\"]{word}|\[['\"]{word}['\"]\](?! = )", text, re.I):
                found.add(path.relative_to(top).as_posix())
    templates = [
        path.relative_to(top).as_posix()
        for path in top.rglob("*.jinja2")
        if re.search(r"(GET|POST|params|form)[.\[(\"'get]+next", path.read_text())
    ]
    # The languages of a rejected form are links to its page with `next`, where return_to checks it.
    assert readers == {
        "next": {"platform/http/return_to.py", "platform/http/languages.py"},
        "Referer": {"platform/http/return_to.py"},
    }
    assert templates == []
