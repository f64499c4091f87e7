"""What a mail takes from its user: the name for a greeting, and where a warning leads."""

import pytest

from tests.account.test_email_change import change
from tests.support.mails import html_of, link_in, put, text_of
from tests.support.pages import submit
from tests.support.site import PASSWORD, bearer

LURE = "Your account was locked. Call 0900 666 1234 now"
PAGE = {"verification_url": "http://localhost/email/verify"}


def registered(site, *, confirmed):
    user = site.user(confirmed=confirmed)
    token = site.login(site.client())["access_token"]
    site.http.patch_json("/v1/user", {"name": LURE}, headers=bearer(token))
    return user, token


def contains_the_lure(mail):
    return "0900 666" in " ".join([*mail.values(), text_of(mail), html_of(mail)])


def test_an_unconfirmed_user_is_not_greeted_by_name(site):
    """L14: a stranger who registers with an address writes nothing into its mailbox."""
    user, token = registered(site, confirmed=False)
    site.http.post_json("/v1/email/verification-notification", PAGE, headers=bearer(token))
    site.http.post_json(
        "/v1/password/forgot",
        {"email": user.email, "reset_url": "http://localhost/password/reset"},
    )
    change(site, token)
    for kind in ("welcome", "password_changed", "email_changed", "already_registered"):
        put(site, kind, user_id=user.id)
    mails = site.mails()
    assert len(mails) == 8
    assert [mail["Subject"] for mail in mails if contains_the_lure(mail)] == []


def test_a_new_address_is_not_greeted_by_name_before_it_is_proved(site):
    """L14: nor does a confirmed user, by asking for a change to another person's address."""
    _user, token = registered(site, confirmed=True)
    change(site, token)
    [mail] = [mail for mail in site.mails() if mail["To"] == "anna@example.org"]
    assert not contains_the_lure(mail)


@pytest.mark.parametrize("kind", ["welcome", "password_changed", "email_changed"])
def test_a_confirmed_user_is_greeted_by_name(site, kind):
    user, _token = registered(site, confirmed=True)
    put(site, kind, user_id=user.id)
    [mail] = site.mails()
    assert "Hello Your account was locked." in text_of(mail)
    assert contains_the_lure(mail)


def test_the_advice_to_choose_a_new_password_leads_to_where_that_is_done(site):
    """trial 25: not to the front page."""
    user, token = registered(site, confirmed=True)
    body = {"current_password": PASSWORD, "password": "purple wolf 77 tea"}
    site.http.put_json("/v1/user/password", body, headers=bearer(token))
    change(site, token, current_password=body["password"])
    warnings = [mail for mail in site.mails() if mail["To"] == user.email]
    assert len(warnings) == 2
    for mail in warnings:
        assert "reset your password now" in " ".join(text_of(mail).split())
        assert link_in(mail) == "http://localhost/password/forgot"
    path = link_in(warnings[0]).removeprefix("http://localhost")
    assert submit(site, path, email=user.email).status_int == 303
