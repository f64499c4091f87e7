"""A reset link that has expired: one button mails a new one."""

import pytest

from tests.support.mails import link_in
from tests.support.pages import submit

EMAIL, NEW = "ann@example.com", "green otter 31 rye"


@pytest.mark.parametrize("variant", ["A", "B"])
def test_the_page_of_an_expired_link_mails_a_new_one(site_with, frozen, variant):
    site = site_with(variant=variant)
    site.user(confirmed=True)
    submit(site, "/password/forgot", email=EMAIL, next="/account?x=1")
    [mail] = site.mails()
    frozen.advance(3600)
    page = site.http.get(link_in(mail) + "?next=/account?x=1", status=422)
    assert "This link no longer works" in page
    sent = page.forms[0].submit().follow()
    assert EMAIL in sent
    [mail] = site.mails()
    form = site.http.get(link_in(mail)).forms[0]
    form["password"] = NEW
    assert "Your password has been changed" in form.submit().follow()
    site.login(site.client(), EMAIL, NEW)


@pytest.mark.control("L02")
def test_the_button_answers_alike_for_every_address(site):
    site.user(confirmed=True)
    answers = []
    for email in (EMAIL, "nobody@example.com"):
        page = site.http.get(f"/password/reset?email={email}&token=x", status=422)
        answers.append(page.forms[0].submit())
    assert answers[0].location == answers[1].location
    assert [mail["To"] for mail in site.mails()] == [EMAIL]


@pytest.mark.parametrize(
    "email", ["", "ann at example", "<b>x</b>", "a@b.example&email=c@d.example"]
)
def test_a_link_that_was_cut_off_leads_to_the_form(site, email):
    page = site.http.get(f"/password/reset?email={email}&token=x", status="*")
    assert "<b>x" not in page
    if page.html.select_one("main form"):
        page = page.forms[0].submit(status="*")
        page = page.follow() if page.status_int == 303 else page
    else:
        page = page.click(href="/password/forgot")
    assert page.status_int in (200, 422)
    assert site.mails() == []
