"""A browser that has registered an account, and confirms its address, is signed in."""

import pytest
from sqlalchemy import select, update

from authsite.sign_in.credentials import amr_of
from authsite.sign_in.sessions.models import BrowserSession
from authsite.users.models import User
from tests.support.mails import link_in
from tests.support.pages import csrf_of, sign_in, submit
from tests.support.site import PASSWORD

EMAIL = "Ann.Lee@example.com"
COOKIE = "authsite-registered"
HIDDEN = {"variant": "B", "require_email_confirmation": "true", "prevent_enumeration": "true"}
VARIANTS = {"A": {}, "B": {"variant": "B"}, "B hidden": HIDDEN}


@pytest.fixture(params=VARIANTS)
def site(request, site_with):
    return site_with(limits="on", **VARIANTS[request.param])


def register(site, email=EMAIL, **fields):
    """Register by the page; the link in the mail, if there is one."""
    answer = submit(site, "/register", email=email, password=PASSWORD, **fields)
    assert answer.status_int == 303, answer.text
    [mail] = site.mails()
    return link_in(mail)


def confirm(site, link):
    """Press the button of the mailed link."""
    opened = site.http.get(link)
    form = {"csrf_token": csrf_of(opened), "url": opened.forms[0]["url"].value}
    return site.http.post("/email/verify", form, status="*")


def sessions(site):
    with site.db() as db:
        return db.scalars(select(BrowserSession)).all()


def test_confirming_in_that_browser_begins_a_session_and_leads_to_the_account(site):
    answer = confirm(site, register(site))
    assert (answer.status_int, answer.headers["Location"]) == (303, "http://localhost/account")
    [session] = sessions(site)
    assert (amr_of(session.facts), session.remember) == (("email",), False)
    assert EMAIL in site.http.get("/account", status=200)
    assert site.events()[-2:] == ["user.confirmed", "session.begun"]
    for name in (COOKIE, "authsite-address", "authsite-next"):
        assert name not in site.http.cookies
    assert "device" in site.http.cookies  # the browser is recognized


def test_it_leads_to_the_page_that_the_registration_began_at(site):
    link = register(site, next="/account/security")
    answer = confirm(site, link)
    assert answer.headers["Location"] == "http://localhost/account/security"
    site.http.get("/account", status=200)


def test_elsewhere_the_page_leads_to_the_login_with_the_address(site):
    link = register(site)
    site.http.reset()
    answer = confirm(site, link)
    assert answer.status_int == 200
    assert sessions(site) == []
    login = answer.click("Sign in", href="/login")
    assert login.forms[0]["username"].value == EMAIL


def test_it_works_once(site):
    link = register(site)
    kept = site.http.cookies[COOKIE]
    confirm(site, link)
    site.http.reset()
    site.http.set_cookie(COOKIE, kept)
    assert confirm(site, link).status_int == 200
    assert len(sessions(site)) == 1


def test_the_api_signs_no_one_in(site):
    link = register(site)
    opened = site.http.get(link)
    site.http.get(opened.forms[0]["url"].value, status=200)
    assert sessions(site) == []
    assert confirm(site, link).status_int == 200  # it is confirmed already
    assert sessions(site) == []


def test_it_lasts_an_hour(site_with, frozen):
    site = site_with(verification_expires_in="3h")
    link = register(site)
    kept = site.http.cookies[COOKIE]
    frozen.advance(3600)
    site.http.reset()
    site.http.set_cookie(COOKIE, kept)
    assert confirm(site, link).status_int == 200
    assert sessions(site) == []


@pytest.mark.parametrize("change", [{"epoch": 1}, {"disabled_at": None, "epoch": 5}])
def test_it_ends_with_the_epoch_of_the_user(site, change):
    link = register(site)
    with site.db() as db:
        db.execute(update(User).values(change))
    assert confirm(site, link).status_int == 200
    assert sessions(site) == []


def test_it_is_of_one_user_and_one_address(site):
    """Eve's cookie, put into another browser, signs no one in to Eve's or Ann's account."""
    register(site, "eve@example.com")
    of_eve = site.http.cookies[COOKIE]
    site.http.reset()
    link = register(site)
    site.http.reset()
    for value in (of_eve, f"{of_eve[:-1]}A", "", "x" * 500):
        site.http.set_cookie(COOKIE, value)
        with site.db() as db:
            db.execute(update(User).values(email_verified_at=None))
        assert confirm(site, link).status_int == 200
    assert sessions(site) == []


def test_the_cookie_alone_opens_nothing(site):
    register(site)
    site.http.get("/account", status=302)


@pytest.mark.control("L03")
def test_a_taken_address_leaves_the_same_cookie(site_with):
    site = site_with(**HIDDEN)
    site.user("bob.lee@example.com", confirmed=True)
    left = []
    for email in ("ann.lee@example.com", "bob.lee@example.com"):
        answer = submit(site, "/register", email=email, password=PASSWORD)
        [cookie] = [c for c in answer.headers.getall("Set-Cookie") if c.startswith(COOKIE)]
        value, attributes = cookie.removeprefix(f"{COOKIE}=").split(";", 1)
        left.append((len(value), attributes.partition("expires")[0]))
        site.http.reset()
    assert left[0] == left[1]
    assert "Max-Age=3600" in left[0][1]


@pytest.mark.control("S02")
def test_the_cookie_is_of_this_host_only(site_with):
    site = site_with(base_url="https://auth.example.org")
    answer = submit(site, "/register", email=EMAIL, password=PASSWORD)
    [cookie] = [c for c in answer.headers.getall("Set-Cookie") if COOKIE in c]
    assert cookie.startswith(f"__Host-{COOKIE}=")
    assert {"Path=/", "secure", "HttpOnly", "SameSite=Lax"} <= set(cookie.split("; "))


def test_who_is_signed_in_there_stays_signed_in(site):
    """Confirming does not change whose session it is."""
    site.user("bo@example.com", confirmed=True)
    link = register(site)
    kept = site.http.cookies[COOKIE]
    sign_in(site, "bo@example.com")
    site.http.set_cookie(COOKIE, kept)
    [before] = sessions(site)
    assert confirm(site, link).status_int == 200
    assert [row.user_id for row in sessions(site)] == [before.user_id]
