"""The link "This was not me" after the address of the account has changed."""

from datetime import timedelta

import pytest

from authsite.platform.mail.outbox import OutboxMessage
from authsite.platform.runtime import clock
from authsite.users.models import FormerAddress, User
from tests.account.test_email_change import change, complete, paths_to
from tests.support.mails import link_in, text_of
from tests.support.notices import (
    NEW,
    arrive,
    choose,
    press,
    reset,
    site_of_ann,
    token_sign_in,
)
from tests.support.pages import sign_in, submit
from tests.support.site import PASSWORD
from tests.verification.story import revert_link
from tests.verification.test_cancel_change import press as press_undo

FIRST, SECOND = "eve@evil.example", "eve2@evil.example"


@pytest.fixture
def site(site_with, frozen):
    return site_of_ann(site_with)


def moves(site, frozen, *addresses, password=PASSWORD):
    """The intruder changes the address, and later changes it again."""
    with site.db() as db:
        db.get(User, site.ann.id).email_verified_at = clock.now() - timedelta(days=8)
    for address in addresses:
        frozen.advance(60)
        present = address_of(site)
        token = site.login(site.keys, present, password)["access_token"]
        change(site, token, address, current_password=password)
        [path] = paths_to(site, address)
        complete(site, path, token)


def address_of(site):
    with site.db() as db:
        return db.get(User, site.ann.id).email


def test_a_reset_after_a_change_of_address_does_not_end_the_link(site, frozen):
    [mail] = arrive(site)
    moves(site, frozen, FIRST)
    frozen.advance(60)
    reset(site, FIRST)  # by the intruder, who reads that mailbox
    assert press(site, link_in(mail)).status_int == 200


def test_l2_an_intruder_who_changes_twice_and_takes_it_back_does_not_end_the_link(site, frozen):
    [mail] = arrive(site)
    moves(site, frozen, FIRST)
    site.mails()
    moves(site, frozen, SECOND)
    [notice] = [each for each in site.mails() if each["To"] == FIRST]
    press_undo(site, revert_link(notice))
    assert address_of(site) == FIRST
    assert press(site, link_in(mail)).status_int == 200


def test_once_the_address_cannot_be_restored_its_link_is_dead(site, frozen):
    [mail] = arrive(site)
    moves(site, frozen, FIRST)
    with site.db() as db:
        db.query(FormerAddress).delete()
    assert press(site, link_in(mail)).status_int == 403
    assert site.http.get(link_in(mail), status=403)


def test_a_revert_ends_the_links_of_the_restored_address_and_those_mailed_since(site, frozen):
    [mail] = arrive(site)
    moves(site, frozen, FIRST)
    [notice] = [each for each in site.mails() if each["To"] == "ann@example.com"]
    frozen.advance(60)
    site.http.reset()
    site.http.extra_environ["REMOTE_ADDR"] = "203.0.113.99"
    sign_in(site, FIRST)
    [since] = site.mails()
    assert since["To"] == FIRST
    frozen.advance(60)
    press_undo(site, revert_link(notice))
    assert address_of(site) == "ann@example.com"
    for dead in (mail, since):
        assert press(site, link_in(dead)).status_int == 403


def test_a_password_chosen_at_a_former_address_ends_its_links_alone(site, frozen):
    [mail] = arrive(site)
    moves(site, frozen, FIRST)
    site.mails()
    press(site, link_in(mail))
    chosen = choose(site, link_in(mail))
    assert FIRST not in chosen.text
    assert "another e-mail address now" in chosen.text
    assert press(site, link_in(mail)).status_int == 403
    frozen.advance(60)
    site.http.reset()
    site.http.extra_environ["REMOTE_ADDR"] = "203.0.113.55"
    sign_in(site, FIRST, NEW)
    later = next(each for each in site.mails() if "not-me" in text_of(each))
    assert press(site, link_in(later)).status_int == 200


@pytest.mark.parametrize("through", ["browser", "app"])
def test_a_link_is_of_the_login_however_late_its_mail_is_sent(site, frozen, through):
    site.http.reset()
    site.http.extra_environ["REMOTE_ADDR"] = "203.0.113.9"
    if through == "browser":
        sign_in(site)
    else:
        token_sign_in(site)
    with site.db() as db:
        db.query(OutboxMessage).update({"next_attempt_at": clock.now() + timedelta(hours=1)})
    moves(site, frozen, FIRST)  # before the mail server answers
    reset(site, FIRST)
    frozen.advance(3600)
    mail = next(each for each in site.mails() if "not-me" in text_of(each))
    assert press(site, link_in(mail)).status_int == 200


def test_a_change_of_address_after_a_reset_does_not_revive_the_link(site, frozen):
    [mail] = arrive(site)
    frozen.advance(60)
    reset(site)
    moves(site, frozen, FIRST, password=NEW)
    assert press(site, link_in(mail)).status_int == 403


def test_a_notice_of_a_sign_in_that_has_ended_has_a_link_that_works(site, frozen):
    site.http.reset()
    site.http.extra_environ["REMOTE_ADDR"] = "203.0.113.9"
    sign_in(site)
    submit(site, "/logout")
    [mail] = site.mails()
    assert "203.0.113.9" in text_of(mail)
    assert press(site, link_in(mail)).status_int == 200


@pytest.mark.control("F19")
def test_h1_a_registrant_takes_no_account_back_with_the_link_of_a_notice(site, frozen):
    """The account changed to the victim's address, who confirmed it and chose a password."""
    [mail] = arrive(site)  # to the registrant, whose address is young
    frozen.advance(60)
    token = site.login(site.keys)["access_token"]
    change(site, token, FIRST)
    [path] = paths_to(site, FIRST)
    complete(site, path, token)
    reset(site, FIRST)
    for refused in (press(site, link_in(mail)), choose(site, link_in(mail))):
        assert refused.status_int == 403
    site.login(site.keys, FIRST, NEW)
