"""The page that asks for a mailed code."""

import re

import pytest
from sqlalchemy import select

from authsite.sign_in.credentials import amr_of
from authsite.sign_in.sessions.models import BrowserSession
from tests.support.mails import text_of
from tests.support.pages import sign_in, submit

CODE = re.compile(r"\b([A-Z]{4}-[A-Z]{4})\b")
WRONG = "This code is not right, or it has expired. Enter the one from the latest e-mail."


def code_in(site):
    """The code of the latest mail."""
    return CODE.search(text_of(site.mails()[-1]))[1]


@pytest.fixture
def site(site_with):
    """A site that asks for a mailed code in an unrecognized browser."""
    made = site_with(limits="on", unrecognized_login="code")
    made.user(confirmed=True)
    return made


def test_a_mailed_code_begins_the_session(site):
    sign_in(site, next="/account/access")
    page = site.http.get("/login/factor")
    assert page.html.h1.text == "Check your e-mail"
    assert page.html.find("p", class_="sent-to").text == "ann@example.com"
    assert page.html.find("input", id="code")["autocomplete"] == "one-time-code"
    assert page.html.find("input", {"name": "remember_browser"}) is None
    answer = submit(site, "/login/factor", method="email", code=code_in(site).lower())
    assert answer.headers["Location"] == "http://localhost/account/access"
    with site.db() as db:
        assert amr_of(db.scalar(select(BrowserSession)).facts) == ("pwd", "email")


@pytest.mark.parametrize(
    ("code", "message"),
    [
        ("", "Enter the code from the e-mail."),
        (
            "BCDF-GHJK",
            "This code is not right, or it has expired. Enter the one from the latest e-mail.",
        ),
    ],
)
def test_a_mistake_is_told_at_the_field(site, code, message):
    sign_in(site)
    answer = submit(site, "/login/factor", method="email", code=code)
    assert answer.status_int == 422
    assert answer.html.find("a", href="#code").text == message


def test_it_is_sent_again_and_is_the_same_code(site):
    sign_in(site)
    first = code_in(site)
    answer = submit(site, "/login/factor/mail", page="/login/factor")
    assert "We have sent the code again." in answer.follow().text
    assert code_in(site) == first
    assert site.http.get("/login/factor/mail").headers["Location"].endswith("/login/factor")


def test_a_sign_in_by_mail_shows_what_was_typed_whether_or_not_it_is_known(site_with):
    site = site_with(limits="on", email_sign_in="on")
    site.user(confirmed=True)
    shown = []
    for name in ("ann@example.com", "eve@example.com"):
        site.new_browser()
        answer = submit(site, "/login/email", page="/login", username=name)
        assert answer.headers["Location"].endswith("/login/factor")
        page = site.http.get("/login/factor")
        assert page.html.find("p", class_="sent-to").text == name
        wrong = submit(site, "/login/factor", method="email", code="BCDF-GHJK")
        assert wrong.status_int == 422
        again = submit(site, "/login/factor/mail", page="/login/factor")
        shown.append(
            (re.sub(r'value="[0-9a-f]+"', "", page.text).replace(name, ""), again.location)
        )
    assert shown[0] == shown[1]


def test_where_a_factor_must_follow_the_code_leads_to_its_page(site_with):
    site = site_with(limits="on", second_factor="required")
    site.user(confirmed=False)
    sign_in(site)
    answer = submit(site, "/login/factor", method="email", code=code_in(site))
    assert answer.headers["Location"] == "http://localhost/login/factor"
    page = site.http.get("/login/factor")
    assert page.html.h1.text == "Set up a second factor"
    assert page.html.find("p", class_="key")
