"""A mail is in the language that is stored for its user, whichever user caused it."""

import pytest

from authsite.users.models import User
from tests.mail.test_mails import MAILS, mail
from tests.support.mails import text_of
from tests.support.pages import sign_in, submit
from tests.support.site import PASSWORD, bearer

GERMAN, ENGLISH = {"Accept-Language": "de-AT, en;q=0.5"}, {"Accept-Language": "en"}


def language_of(site, email="ann@example.com"):
    with site.db() as db:
        return db.query(User).filter_by(email=email).one().language


def register(site, headers, email="ann@example.com"):
    body = {
        "email": email,
        "password": PASSWORD,
        "verification_url": "http://localhost/email/verify",
    }
    site.http.post_json("/v1/register", body, headers=headers, status=201)


def forgot(site, headers):
    body = {"email": "ann@example.com", "reset_url": "http://localhost/password/reset"}
    site.http.post_json("/v1/password/forgot", body, headers=headers, status=202)
    [mail] = site.mails()
    return mail["Subject"]


@pytest.mark.parametrize("kind", MAILS)
def test_every_mail_is_in_the_stored_language_and_not_in_that_of_the_request(kind):
    assert mail(kind, language="en", stored="de")["Subject"] == mail(kind, language="de")["Subject"]


def test_a_stored_language_that_is_not_offered_any_more_is_ignored():
    made = mail("reset", stored="de", languages="en fr")
    assert made["Subject"] == mail("reset")["Subject"]


def test_a_registration_stores_the_language_and_a_thief_with_another_browser_does_not_change_it(
    site,
):
    register(site, GERMAN)
    assert language_of(site) == "de"
    [welcome] = site.mails()
    assert "Guten Tag" in text_of(welcome)
    token = site.login(site.client())["access_token"]
    sign_in(site, headers=ENGLISH)
    change = {"email": "eve@evil.example", "current_password": PASSWORD,
              "verification_url": "http://localhost/email/verify"}  # fmt: skip
    site.http.put_json("/v1/user/email", change, headers={**bearer(token), **ENGLISH}, status=202)
    mails = site.mails()
    assert len(mails) == 2
    for each in mails:
        assert "Guten Tag" in text_of(each)
    assert language_of(site) == "de"


def test_a_request_without_a_language_stores_none_and_mails_follow_the_request(site):
    register(site, {})
    assert language_of(site) is None
    site.mails()
    assert forgot(site, GERMAN) == mail("reset", language="de", site_name="authsite")["Subject"]
    assert forgot(site, {}) == mail("reset", site_name="authsite")["Subject"]


def test_a_page_login_stores_the_language_of_the_page_once(site):
    site.user(confirmed=True)
    assert language_of(site) is None
    sign_in(site, headers=GERMAN)
    assert language_of(site) == "de"
    site.http.reset()
    sign_in(site, headers=ENGLISH)
    assert language_of(site) == "de"


def test_the_account_page_changes_it_for_mails_and_pages(site):
    site.user(confirmed=True)
    sign_in(site, headers=GERMAN)
    site.http.get("/account", headers=GERMAN)
    done = submit(site, "/account/language", page="/account", language="fr")
    assert done.status_int == 303
    assert language_of(site) == "fr"
    page = site.http.get("/account")
    assert page.html.html["lang"] == "fr"
    assert page.html.select_one("select[name=language] option[selected]")["value"] == "fr"
    assert forgot(site, GERMAN) == mail("reset", language="fr", site_name="authsite")["Subject"]


@pytest.mark.parametrize("language", ["", "xx", "de_AT", "en fr"])
def test_a_language_that_is_not_offered_is_an_error_of_the_form(site, language):
    site.user(confirmed=True)
    sign_in(site, headers=GERMAN)
    answer = submit(site, "/account/language", page="/account", language=language)
    assert answer.status_int == 422
    assert language_of(site) == "de"


def test_a_command_writes_in_the_stored_language(site):
    register(site, GERMAN)
    site.mails()
    from authsite.verification.email_change import propose_address
    from tests.support.acting import acting

    with site.db() as db:
        context = acting(db, site.app.registry["authsite"], base_urls=("http://localhost",))
        propose_address(context, db.query(User).one(), "next@example.com")
    [proposed] = site.mails()
    assert "Guten Tag" in text_of(proposed)
