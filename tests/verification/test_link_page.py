"""Asking for a new confirmation link without signing in: the way out for Variant B."""

import pytest

from tests.support.mails import link_in
from tests.support.pages import csrf_of, submit


@pytest.fixture
def site(site_with):
    return site_with(variant="B", require_email_confirmation="true")


def test_an_unconfirmed_person_gets_a_link_and_can_sign_in_after_it(site):
    site.user()
    site.mails()
    assert "/email/link" in site.http.get("/login").text
    answer = submit(site, "/email/link", email="ann@example.com")
    assert answer.status_int == 303
    [mail] = site.mails()
    page = site.http.get(link_in(mail))
    form = {"csrf_token": csrf_of(page), "url": page.forms[0]["url"].value}
    site.http.post("/email/verify", form, status=200)
    site.login(site.client())


@pytest.mark.parametrize("path", ["/email/link", "/password/forgot"])
@pytest.mark.parametrize("text", ["ann", "ann at example.com", "ann@"])
def test_what_is_no_address_is_said_beside_the_field_and_mails_nothing(site, path, text):
    answer = submit(site, path, email=text)
    assert answer.status_int == 422
    assert "Enter an e-mail address in the format name@example.com." in answer.text
    assert answer.forms[0]["email"].value == text
    assert site.mails() == []


@pytest.mark.control("L04")
def test_the_answer_is_the_same_for_every_address(site):
    site.user()
    site.user("bo@example.com", confirmed=True)
    site.mails()
    responses = {
        (a.status_int, a.headers["Location"])
        for a in (
            submit(site, "/email/link", email=email)
            for email in ("ann@example.com", "bo@example.com", "nobody@example.com")
        )
    }
    assert len(responses) == 1
    assert [mail["To"] for mail in site.mails()] == ["ann@example.com"]
