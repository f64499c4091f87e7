"""An administrator enters an address, which may be mistyped."""

from urllib.parse import quote

import pytest

from authsite.users import service as users
from authsite.users.errors import SignInEnded
from authsite.users.models import User
from authsite.verification.email_change import propose_address, set_address
from tests.account.test_email_change import change, complete, path_in, paths_to
from tests.support.acting import acting
from tests.support.mails import link_in, text_of
from tests.support.pages import sign_in
from tests.verification.test_disown import BUTTON, press, users_left

pytestmark = pytest.mark.both_databases

NEW = "next@example.com"


def propose(site, user, email=NEW):
    """What `authsite user set-email` does."""
    with site.db() as db:
        context = acting(db, site.app.registry["authsite"], base_urls=("http://localhost",))
        propose_address(context, db.get(User, user.id), email)
    return {mail["To"]: mail for mail in site.mails()}


def forgot(site, email):
    asked = {"email": email, "reset_url": "http://localhost/password/reset"}
    site.http.post_json("/v1/password/forgot", asked, status=202)
    return [mail["To"] for mail in site.mails() if "/password/reset/" in text_of(mail)]


def test_a_stranger_at_it_can_neither_reset_the_password_nor_delete_the_account(site):
    """The address counted at once: who read the mail could take the account, or delete it."""
    mails = propose(site, site.user(confirmed=True))
    assert "/email/change/cancel/" in text_of(mails["ann@example.com"])
    assert forgot(site, NEW) == []
    signed = path_in(site, mails[NEW])
    page = site.http.get(f"/email/verify?url={quote('http://localhost' + signed, safe='')}")
    assert BUTTON not in page.text
    assert press(site, f"http://localhost{signed}").status_int == 403
    assert users_left(site) == {"ann@example.com"}


def test_once_its_link_is_used_it_is_the_address_of_the_account(site):
    site.http.get(path_in(site, propose(site, site.user(confirmed=True))[NEW]), status=200)
    assert users_left(site) == {NEW}
    assert forgot(site, NEW) == [NEW]


def test_the_page_of_its_link_needs_no_sign_in_and_says_what_ended(site):
    mail = propose(site, site.user(confirmed=True))[NEW]
    page = site.http.get(link_in(mail), status=200)
    assert "a…@example.com" in page.text
    assert "ann@example.com" not in page.text + text_of(mail)
    done = page.forms[0].submit()
    assert done.html.h1.text == "Your e-mail address was changed"
    assert f"Sign in with {NEW}. You were signed out everywhere." in done.html.main.get_text()
    assert site.http.get("/login").forms[0]["username"].value == NEW


def test_the_account_page_says_that_all_sign_ins_end(site):
    propose(site, site.user(confirmed=True))
    sign_in(site)
    [notice] = site.http.get("/account").html.select(".notice.warning")
    assert "Then you are signed out everywhere, and" in notice.text


def test_what_the_user_asks_for_then_is_completed_by_the_user_alone(site):
    """Also if it is the address that the administrator had entered."""
    propose(site, site.user(confirmed=True))
    token = site.login(site.client())["access_token"]
    change(site, token, NEW)
    [path] = paths_to(site, NEW)
    site.http.get(path, status=401)
    complete(site, path, token)
    assert users_left(site) == {NEW}


def test_an_unconfirmed_present_address_gets_no_notice(site):
    assert list(propose(site, site.user())) == [NEW]


def test_a_disabled_user_has_no_pending_change(site):
    user = site.user()
    with site.db() as db:
        users.disable(acting(db), db.get(User, user.id))
    with pytest.raises(SignInEnded):
        propose(site, user)


@pytest.mark.parametrize("confirmed", [True, False])
def test_an_address_that_is_set_counts_at_once_and_a_confirmed_one_gets_a_notice(site, confirmed):
    user = site.user(confirmed=confirmed)
    with site.db() as db:
        set_address(acting(db), db.get(User, user.id), NEW)
    assert users_left(site) == {NEW}
    mails = {mail["To"]: text_of(mail) for mail in site.mails()}
    assert list(mails) == ["ann@example.com"] * confirmed
    assert "http" not in "".join(mails.values())
