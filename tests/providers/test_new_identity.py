"""A new identity: whose account it becomes, by the rows of the table."""

from datetime import timedelta

import pytest

from authsite.platform.runtime import clock
from authsite.users.models import User
from tests.factor_pages.people import add_app
from tests.providers.people import (
    arrive,
    come_back,
    identities,
    send,
    signed_in_as,
    users,
)
from tests.support.mails import link_in, text_of
from tests.support.site import PASSWORD

ANN = "ann@gmail.com"
NEW_PASSWORD = "eleven green kites"


def heading(page):
    return page.html.h1.get_text()


def mailed_link(site):
    [mail] = [each for each in site.mails() if "/login/with/" in text_of(each)]
    return link_in(mail)


def test_a_trusted_address_without_an_account_creates_a_confirmed_user_without_a_password(
    site_of, providers
):
    fake = providers("google")
    site = site_of(fake)
    page = arrive(site, fake, next="/account/security")
    assert heading(page) == "Create an account"
    assert users(site) == []
    answer = send(page, "/create")
    assert (answer.status_int, answer.location) == (303, "http://localhost/account/security")
    [user], [identity] = users(site), identities(site)
    assert (user.email, user.name, user.password_hash) == (ANN, "Ann Example", None)
    assert (user.origin, user.email_verified_at is not None) == ("provider", True)
    assert (identity.user_id, identity.subject) == (user.id, fake.subject)
    assert (identity.email, identity.trusted) == (ANN, True)
    assert "Ann Example" in signed_in_as(site)
    assert "provider.linked" in site.events()


def test_the_page_of_a_new_user_asks_for_the_terms_and_a_free_username(site_of, providers):
    fake = providers("google")
    site = site_of(
        fake,
        terms_url="https://example.org/terms",
        login_identifiers="email username",
        registration_fields="username",
    )
    site.user("bo@example.com", username="ann")
    page = arrive(site, fake)
    again = send(page, "/create", username="ann")
    assert again.status_int == 422
    assert "Accept the terms" in again.text
    again = send(again, "/create", username="ann", terms_accepted=True)
    assert "This username is taken" in again.text
    assert send(again, "/create", username="anna", terms_accepted=True).status_int == 303
    assert users(site)[1].terms_url == "https://example.org/terms"


def test_an_address_that_is_not_trusted_is_proved_by_a_link_before_anything_is_made(
    site_of, providers
):
    fake = providers("gitlab")
    site = site_of(fake)
    page = arrive(site, fake)
    assert heading(page) == "Check your e-mail"
    assert users(site) == identities(site) == []
    shown = site.http.get(mailed_link(site))
    assert heading(shown) == "Create an account"
    assert users(site) == []  # opening the link changes nothing
    assert send(shown, "/create").status_int == 303
    assert identities(site)[0].trusted
    assert users(site)[0].email_verified_at


def test_a_provider_without_an_address_asks_for_it(site_of, providers):
    fake = providers("oidc")
    fake.claims["email"] = None
    site = site_of(fake)
    page = arrive(site, fake)
    assert heading(page) == "Your e-mail address"
    page = send(page, "/address", email="Ann@Example.com").follow()
    assert heading(page) == "Check your e-mail"
    assert send(site.http.get(mailed_link(site)), "/create").status_int == 303
    assert users(site)[0].email == "Ann@example.com"


@pytest.mark.parametrize("account", [None, "unconfirmed", "confirmed"])
@pytest.mark.parametrize("settings", [{}, {"registration": "off"}])
def test_before_the_proof_the_page_does_not_tell_whether_there_is_an_account(
    site_of, providers, account, settings
):
    fake = providers("gitlab")
    site = site_of((fake, {"create": "off" if settings else "on"}), **settings)
    if account:
        site.user("ann@example.com", confirmed=account == "confirmed")
    page = arrive(site, fake)
    lines = [line for line in page.html.main.get_text().splitlines() if line]
    assert lines[:2] == [
        "Check your e-mail",
        "We sent you a link. Open it in this browser to go on with GitLab. It works for 1 hour.",
    ]
    assert "ann@example.com" in lines[2]
    assert len(site.mails()) == 1


def test_the_link_works_once_and_for_an_hour_and_only_in_the_browser_that_began(
    site_of, providers, frozen
):
    fake = providers("gitlab")
    site = site_of(fake)
    arrive(site, fake)
    link, cookies = mailed_link(site), list(site.http.cookiejar)
    site.http.reset()
    elsewhere = site.http.get(link, status=400)
    assert heading(elsewhere) == "Open the link in the other browser"
    arrive(site, fake)  # this browser has begun, too: its cookie is another one
    assert heading(site.http.get(link, status=400)) == "Open the link in the other browser"
    site.http.reset()
    for cookie in cookies:
        site.http.cookiejar.set_cookie(cookie)
    page = site.http.get(link)
    assert send(page, "/create").status_int == 303
    assert heading(site.http.get(link, status=400)) == "This page or link no longer works"
    frozen.advance(3601)
    assert heading(site.http.get(link, status=400)) == "This page or link no longer works"


def test_the_password_connects_a_confirmed_account(site_of, providers):
    fake = providers("google")
    site = site_of(fake)
    user = site.user(ANN, confirmed=True)
    page = arrive(site, fake)
    assert heading(page) == "You have an account already"
    wrong = send(page, "/connect", password="not this one")
    assert wrong.status_int == 422
    assert identities(site) == []
    assert "login.failed" in site.events()
    assert send(wrong, "/connect", password=PASSWORD).status_int == 303
    assert [each.user_id for each in identities(site)] == [user.id]
    [after] = users(site)
    assert (after.epoch, after.password_hash is not None) == (0, True)


def test_with_link_off_the_page_says_how_to_link(site_of, providers):
    fake = providers("google")
    site = site_of((fake, {"link": "off"}))
    site.user(ANN, confirmed=True)
    page = arrive(site, fake)
    assert "connect it on your account page" in page.text
    assert not any(each.action.endswith("/connect") for each in page.forms.values())


def test_another_linked_provider_proves_the_account(site_of, providers):
    google, github = providers("google"), providers("github")
    github.emails[1]["email"] = ANN
    site = site_of(google, github)
    send(arrive(site, google), "/create")
    site.http.reset()
    page = arrive(site, github)
    assert heading(page) == "You have an account already"
    there = send(page, "/login/with/google").html.select_one("a.button.primary")["href"]
    page = site.http.get(google.authorize(there)).follow()
    assert send(page, "/join").status_int == 303
    assert [each.provider for each in identities(site)] == ["google", "github"]


def test_a_session_that_began_with_a_password_does_not_prove_the_account_by_a_press(
    site_of, providers
):
    fake = providers("google")
    site = site_of(fake)
    site.user(ANN, confirmed=True)
    page = arrive(site, fake)
    assert "/join" not in page.text


def test_start_afresh_erases_an_account_that_was_never_confirmed(site_of, providers):
    fake = providers("google")
    site = site_of(fake)
    stranger = register(site)
    page = arrive(site, fake)
    assert heading(page) == "There is an account with your address"
    page = next(each for each in page.forms.values() if each.method == "get").submit()
    assert "is deleted" in page.text
    assert send(page, "/create").status_int == 303
    [user] = users(site)
    assert user.id != stranger.id
    assert [each.user_id for each in identities(site)] == [user.id]
    assert "Your new account at authsite" in [mail["Subject"] for mail in site.mails()]
    assert "provider.claimed" in site.events()


@pytest.mark.parametrize("changes", [
    {"origin": "imported"}, {"origin": "command"}, {"labels": "ops"}, {"days": 31},
    {"disabled_at": clock.now()}, {"factor": True},
])  # fmt: skip
def test_start_afresh_is_neither_shown_nor_done_for_other_accounts(site_of, providers, changes):
    fake = providers("google")
    site = site_of(fake)
    changes, stranger = dict(changes), register(site)
    if changes.pop("factor", False):
        add_app(site, stranger)
    with site.db() as db:
        row = db.get(User, stranger.id)
        if days := changes.pop("days", 0):
            changes["created_at"] = row.created_at - timedelta(days=days)
        for name, value in changes.items():
            setattr(row, name, value)
    page = arrive(site, fake)
    assert "Start afresh" not in page.text
    csrf, key = page.forms[0]["csrf_token"].value, page.forms[0]["key"].value
    form = {"csrf_token": csrf, "key": key, "afresh": "1"}
    assert site.http.post("/login/with/google/create", form, status=409)
    assert [each.id for each in users(site)] == [stranger.id]


def test_it_is_mine_with_the_password_confirms_and_links(site_of, providers):
    fake = providers("google")
    site = site_of(fake)
    user = register(site)
    assert send(arrive(site, fake), "/connect", password=PASSWORD).status_int == 303
    [after] = users(site)
    assert (after.id, after.email_verified_at is not None, after.epoch) == (user.id, True, 0)


def test_no_user_registers_where_registration_or_create_is_off(site_of, providers):
    fake = providers("google")
    for site in (site_of((fake, {"create": "off"})), site_of(fake, registration="off")):
        answer = come_back(site, fake)
        assert answer.status_int == 403
        assert heading(answer) == "You cannot register here"
        assert users(site) == []


def register(site, email=ANN):
    """A stranger registers the address on the page, and never confirms it."""
    with site.db() as db:
        row = db.get(User, site.user(email).id)
        row.origin = "registered"
    return row
