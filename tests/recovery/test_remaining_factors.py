"""What a recovery does to each factor, and how those that stay are named and removed.

A passkey that an intruder has added is a way in, and must not outlive the reset; a reader of the
mailbox must not get around a second factor.
"""

import re
from datetime import timedelta

import pytest

from authsite.platform.runtime import clock
from authsite.sign_in.methods.passkeys.stored import Passkey
from authsite.sign_in.methods.totp.models import TotpFactor
from authsite.users import service as users
from authsite.users.models import User
from tests.support import factors
from tests.support.acting import acting
from tests.support.mails import text_of
from tests.support.pages import csrf_of, sign_in, submit

pytestmark = pytest.mark.both_databases

NEW = "green otter 31 rye"


@pytest.fixture
def ann(site, frozen):
    return site.user(confirmed=True)


def reset(site, user):
    """Reset the password on the page; the page after it."""
    page = site.http.get("/password/forgot")
    fields = {"email": user.email, "token": site.reset_token(factors.state(site, user))}
    given = {**fields, "csrf_token": csrf_of(page), "password": NEW}
    return site.http.post("/password/reset", given, status=303).follow()


def by_command(site, user):
    with site.db() as db:
        ctx = acting(db, site.app.registry["authsite"])
        users.set_password(ctx, user.id, ctx.passwords.hash(NEW))


def days(frozen, number):
    frozen.advance(number * 86400)


@pytest.mark.parametrize("way", [reset, by_command])
def test_a_young_passkey_goes_while_an_older_app_stays(site, ann, frozen, way):
    factors.add_totp(site, ann)
    days(frozen, 300)
    factors.add_passkey(site, ann, name="Evil")
    days(frozen, 6)
    way(site, ann)
    left = factors.left(site, ann)
    assert (left["totp"], left["passkeys"]) == (1, 0)
    assert factors.next_steps(site, NEW) == ("totp", "recovery_code")


def test_one_of_seven_days_stays(site, ann, frozen):
    factors.add_totp(site, ann)
    days(frozen, 300)
    factors.add_passkey(site, ann)
    days(frozen, 7)
    reset(site, ann)
    assert factors.left(site, ann)["passkeys"] == 1


def test_what_has_replaced_an_older_one_stays_and_is_asked_for(site, ann, frozen):
    """An account with an app for a year, which was set up again on a new phone yesterday."""
    factors.add_totp(site, ann)
    days(frozen, 300)
    factors.add_totp(site, ann)
    days(frozen, 1)
    reset(site, ann)
    assert factors.left(site, ann)["totp"] == 1
    assert factors.next_steps(site, NEW) == ("totp", "recovery_code")


def test_a_passkey_that_has_replaced_an_older_one_is_asked_for_after_the_password(
    site, ann, frozen
):
    factors.add_passkey(site, ann)
    days(frozen, 300)
    factors.add_passkey(site, ann)
    with site.db() as db:
        first = db.query(Passkey).order_by(Passkey.created_at).first()
        db.delete(first)
    days(frozen, 1)
    reset(site, ann)
    assert factors.left(site, ann)["passkeys"] == 1
    assert factors.next_steps(site, NEW) == ("passkey", "recovery_code")


def test_a_second_factor_that_was_asked_for_for_long_goes_on_being_asked_for(site, ann, frozen):
    """The app is young, and goes; the older passkey alone is not asked for after a password."""
    factors.add_totp(site, ann)
    factors.add_passkey(site, ann)
    days(frozen, 300)
    factors.add_totp(site, ann)
    days(frozen, 1)
    reset(site, ann)
    left = factors.left(site, ann)
    assert (left["totp"], left["passkeys"]) == (0, 1)
    assert factors.next_steps(site, NEW)[0] == "passkey"


def test_an_administrator_loses_nothing(site, ann, frozen):
    factors.add_totp(site, ann)
    days(frozen, 300)
    factors.add_passkey(site, ann)
    with site.db() as db:
        db.get(User, ann.id).labels = "authsite:viewer"
    reset(site, ann)
    assert factors.left(site, ann)["passkeys"] == 1


@pytest.fixture
def remaining(site, ann, frozen):
    """An account with a passkey alone, of 9 days, after a reset; the page after it."""
    factors.add_passkey(site, ann, name="Blue key")
    days(frozen, 9)
    site.mails()
    return reset(site, ann)


def test_page_and_mail_name_each_that_stays(site, remaining):
    [mail] = site.mails()
    for text in (remaining.html.main.get_text(" "), text_of(mail)):
        words = " ".join(text.split())
        assert re.search(r"Passkey “ ?Blue key ?”, added on [A-Z][a-z]+ [0-9]+, 20[0-9]+", words)
        assert "Unknown device" in words
    links = re.findall(r"http://localhost(/account/factors/remaining/\S+)", text_of(mail))
    assert len(links) == 1


def remove_link(page):
    return page.html.find("a", string="Remove one that you do not know")["href"]


def test_the_new_password_removes_it_where_a_sign_in_asks_no_more(site, ann, remaining):
    link = remove_link(remaining)
    login = site.http.get(link, status=302).follow().forms[0]
    login["username"], login["password"] = ann.email, NEW
    page = login.submit().follow()
    assert "Blue key" in page.text
    done = page.html.find("form", action=re.compile("/remove$"))["action"]
    answer = submit(site, done, page=link)
    assert "It has been removed." in answer.follow().text
    assert factors.left(site, ann)["passkeys"] == 0
    assert site.events().count("factor.removed") == 1
    assert any("passkey was removed" in mail["Subject"].lower() for mail in site.mails())


def test_with_a_second_factor_it_asks_for_one(site, ann, frozen):
    codes = factors.add_totp(site, ann)
    factors.add_passkey(site, ann, name="Blue key")
    days(frozen, 9)
    link = remove_link(reset(site, ann))
    login = site.http.get(link, status=302).follow().forms[0]
    login["username"], login["password"] = ann.email, NEW
    step = login.submit()
    assert "/login/factor" in step.location
    site.http.get(link, status=302)  # not signed in yet
    answer = submit(site, "/login/factor", method="recovery_code", code=codes[0])
    assert answer.status_int == 303, answer.text
    assert "Blue key" in site.http.get(link, status=200).text


def test_the_password_alone_removes_nothing_from_an_administrator(site, ann, remaining):
    """Who reads the mailbox would add a factor then, and be the administrator."""
    sign_in(site, ann.email, NEW)
    link = remove_link(remaining)
    form = site.http.get(link, status=200).html.find("form", action=re.compile("/remove$"))
    with site.db() as db:
        db.get(User, ann.id).labels = "authsite:viewer"
    assert "/login/verify" in site.http.get(link, status=302).location
    answer = submit(site, form["action"], page="/account")
    assert "/login/verify" in answer.location
    assert factors.left(site, ann)["passkeys"] == 1


def test_an_old_sign_in_is_asked_again(site, ann, remaining, frozen):
    sign_in(site, ann.email, NEW)
    link = remove_link(remaining)
    site.http.get(link, status=200)
    frozen.advance(601)
    assert "/login/verify" in site.http.get(link, status=302).location


def test_the_link_of_another_user_or_a_former_recovery_shows_nothing(site, ann, remaining):
    link = remove_link(remaining)
    site.user("bo@example.com", confirmed=True)
    sign_in(site, "bo@example.com")
    assert "Blue key" not in site.http.get(link, status=403).text
    site.http.reset()
    reset(site, ann)
    sign_in(site, ann.email, NEW)
    assert "Blue key" not in site.http.get(link, status=403).text


def test_the_age_of_each_row_decides(site, ann, frozen):
    """Not when it was used last."""
    factors.add_totp(site, ann)
    days(frozen, 30)
    factors.add_passkey(site, ann)
    with site.db() as db:
        db.query(TotpFactor).one().used_at = clock.now()
        db.query(Passkey).one().used_at = clock.now() - timedelta(days=1)
    reset(site, ann)
    assert factors.left(site, ann)["passkeys"] == 0
