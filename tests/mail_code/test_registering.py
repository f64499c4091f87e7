"""A person who registers stays in one tab: the mail has a code, too."""

import re

import pytest
from sqlalchemy import update

from authsite.sign_in.sessions.models import BrowserSession
from authsite.users.models import User
from tests.support.mails import html_of, link_in
from tests.support.pages import csrf_of, sign_in, submit
from tests.support.site import PASSWORD

from .conftest import COOKIE, amrs, code_in, plant, rows

EMAIL = "ben@example.com"
HIDDEN = {"variant": "B", "require_email_confirmation": "true", "prevent_enumeration": "true"}
VARIANTS = {"A": {}, "B": {"variant": "B"}, "B hidden": HIDDEN}


@pytest.fixture(params=VARIANTS)
def site(request, site_with):
    return site_with(limits="on", **VARIANTS[request.param])


def register(site, email=EMAIL, **fields):
    """Register by the page; the page that follows."""
    answered = submit(site, "/register", email=email, password=PASSWORD, **fields)
    assert answered.status_int == 303, answered.text
    return answered.follow()


def enter(site, code):
    """Type the code into the page "Check your e-mail"."""
    page = site.http.get("/register?done=1")
    form = {"csrf_token": csrf_of(page), "code": code}
    return site.http.post("/register/code", form, status="*")


def user(site, email=EMAIL):
    with site.db() as db:
        return db.query(User).filter(User.email == email).one()


def test_the_code_does_what_the_link_does(site):
    page = register(site, next="/account/security")
    assert 'name="code"' in page.text
    [mail] = site.mails()
    assert code_in(mail) in html_of(mail)
    assert link_in(mail)
    before = user(site)
    answered = enter(site, code_in(mail).lower())
    assert answered.headers["Location"] == "http://localhost/account/security"
    assert amrs(site) == [("email",)]
    ben = user(site)
    assert ben.email_verified_at is not None
    assert (ben.epoch, ben.password_hash) == (before.epoch, before.password_hash)  # not a reset
    assert [each["Subject"].split()[0] for each in site.mails()] == ["Welcome"]
    for name in (COOKIE, "authsite-registered", "authsite-address"):
        assert name not in site.http.cookies
    assert "device" in site.http.cookies
    submit(site, "/logout")
    sign_in(site, EMAIL)


def test_it_works_once_and_only_there(site):
    register(site)
    code, key = code_in(site.mails()[0]), site.http.cookies[COOKIE]
    site.new_browser()
    page = site.http.get("/register?done=1")
    assert 'name="code"' not in page.text
    login = site.http.get("/login")
    form = {"csrf_token": csrf_of(login), "code": code}
    assert site.http.post("/register/code", form, status="*").status_int == 422
    plant(site, key)
    assert enter(site, code).status_int == 303
    plant(site, key)
    assert enter(site, code).status_int == 422
    assert len(rows(site, BrowserSession)) == 1


def test_a_wrong_code_is_an_error_at_the_field(site):
    register(site)
    answered = enter(site, "BBBB-BBBB")
    assert answered.status_int == 422
    assert 'id="code-error"' in answered.text
    assert enter(site, "").status_int == 422
    assert enter(site, code_in(site.mails()[0])).status_int == 303


def test_after_the_link_the_code_still_signs_in_there(site):
    register(site)
    [mail] = site.mails()
    key = site.http.cookies[COOKIE]
    site.new_browser()
    opened = site.http.get(link_in(mail))
    form = {"csrf_token": csrf_of(opened), "url": opened.forms[0]["url"].value}
    site.http.post("/email/verify", form, status=200)
    plant(site, key)
    assert enter(site, code_in(mail)).status_int == 303


def test_after_ten_minutes_the_mail_has_the_link_alone(site, frozen):
    register(site)
    frozen.advance(601)
    [mail] = site.mails()
    assert link_in(mail)
    with pytest.raises(TypeError):
        code_in(mail)


def test_another_browser_that_knows_the_password_is_not_signed_in_by_it(site):
    """The code of one who registered counts in no other sign-in."""
    register(site)
    code = code_in(site.mails()[0])
    with site.db() as db:
        db.execute(update(User).values(epoch=User.epoch + 1))  # every sign-in has ended
    assert enter(site, code).status_int == 422
    assert user(site).email_verified_at is None


def test_for_a_taken_address_page_and_cookies_are_the_same(site_with):
    site = site_with(limits="on", **HIDDEN)
    site.user("taken@example.com", confirmed=True)

    def shape(email):
        site.new_browser()
        page = register(site, email)
        text = re.sub(r"[0-9a-f]{64,}|[\w-]{40,}", "", page.text.replace(email, ""))
        return text, {name: len(value) for name, value in site.http.cookies.items()}

    taken, free = shape("taken@example.com"), shape("other@example.com")
    assert taken == free
    shape("taken@example.com")
    assert enter(site, "BBBB-BBBB").status_int == 422
    with pytest.raises(TypeError):
        code_in(site.mails()[0])


def test_a_mail_that_is_requested_again_there_has_the_code_too(site):
    register(site)
    first = code_in(site.mails()[0])
    page = submit(site, "/email/link", email=EMAIL).follow()
    assert 'name="code"' in page.text
    assert code_in(site.mails()[0]) == first
    site.new_browser()  # elsewhere it has the link alone
    submit(site, "/email/link", email=EMAIL)
    [mail] = site.mails()
    assert link_in(mail)
    with pytest.raises(TypeError):
        code_in(mail)


def test_the_code_of_one_registration_is_not_mailed_to_another_person(site):
    site.user("cy@example.com")
    register(site)
    site.mails()
    submit(site, "/email/link", email="cy@example.com")
    for mail in site.mails():
        with pytest.raises(TypeError):
            code_in(mail)
