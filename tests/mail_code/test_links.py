"""The link in a mail with a code: it needs a button, and the browser that has asked."""

import pytest

from authsite.sign_in.sessions.models import BrowserSession
from tests.support.mails import html_of, link_in, text_of
from tests.support.pages import csrf_of

from .conftest import (
    COOKIE,
    amrs,
    code_in,
    plant,
    prove,
    request_code,
    rows,
)


@pytest.fixture
def site(by_mail):
    return by_mail()


def test_the_link_is_a_button_in_that_browser_and_opening_it_changes_nothing(site):
    request_code(site)
    [mail] = site.mails()
    link = link_in(mail)
    for _ in range(2):
        page = site.http.get(link, status=200)
        assert code_in(mail) not in page.text
    assert rows(site, BrowserSession) == []
    form = {"csrf_token": csrf_of(page), "token": page.forms[0]["token"].value}
    assert site.http.post("/login/code", form).headers["Location"] == "http://localhost/account"
    assert amrs(site) == [("email",)]
    site.http.get(link, status=400)  # used


def test_elsewhere_the_link_shows_the_code_and_signs_nobody_in(site):
    request_code(site)
    [mail] = site.mails()
    cookie = site.http.cookies[COOKIE]
    site.new_browser()
    page = site.http.get(link_in(mail), status=200)
    assert code_in(mail) in page.text
    token = link_in(mail).rpartition("/")[2]
    login = site.http.get("/login")
    answered = site.http.post("/login/code", {"csrf_token": csrf_of(login), "token": token})
    assert answered.status_int == 200
    assert code_in(mail) in answered.text
    assert COOKIE not in site.http.cookies  # no pending login comes to another browser
    assert rows(site, BrowserSession) == []
    plant(site, cookie)
    assert prove(site, code_in(mail)).status_int == 303


@pytest.mark.parametrize("token", ["x", "A" * 92])
def test_a_wrong_link_says_what_to_do(site, token):
    page = site.http.get(f"/login/code/{token}", status=400)
    assert "/login" in page.text


def test_the_mail_has_code_and_link_in_both_parts(site):
    request_code(site)
    [mail] = site.mails()
    for part in (text_of(mail), html_of(mail)):
        assert code_in(mail) in part
        assert link_in(mail) in part
    assert code_in(mail) not in mail["Subject"]
