""" "This was not me" and second factors: neither a thief's factor nor a thief's press opens it."""

from datetime import timedelta

import pytest
from sqlalchemy import select

from authsite.sign_in import gate
from authsite.sign_in.factors import service
from authsite.sign_in.sessions.models import BrowserSession
from authsite.users.account import account_of
from authsite.users.groups import labels
from authsite.users.groups.labels import GroupMember
from authsite.users.models import User
from tests.support import factors
from tests.support.mails import link_in, text_of
from tests.support.notices import NEW, arrive, choose, press, site_of_ann
from tests.support.pages import sign_in
from tests.support.site import PASSWORD

DAY = 24 * 3600
NOTHING = {"totp": 0, "passkeys": 0, "codes": 0}


@pytest.fixture
def site(site_with, frozen):
    return site_of_ann(site_with)


def session_of(site):
    """The newest browser session."""
    with site.db() as db:
        return db.scalars(select(BrowserSession).order_by(BrowserSession.created_at.desc())).first()


def notice(site, subject):
    [found] = [each for each in site.mails() if subject in each["Subject"]]
    return found


def recover(site, mail):
    """Press the button of the link, and choose a password."""
    link = link_in(mail)
    assert press(site, link).status_int == 200
    assert choose(site, link).status_int == 200


def thief(site, frozen):
    """A thief with the password signs in; the session and the notice."""
    [mail] = arrive(site)
    frozen.advance(60)
    return session_of(site).id, mail


def switch(site, wanted, session_id=None):
    """Whether Ann is asked for a passkey after the password."""
    with site.db() as db:
        ctx, account = factors.context(site, db), account_of(db.get(User, site.ann.id))
        service.set_after_password(ctx, account, wanted, session_id)


@pytest.mark.parametrize("by", ["sign-in", "change"])
def test_a_factor_that_a_thief_has_added_goes_and_the_account_opens_for_its_owner(site, frozen, by):
    session, mail = thief(site, frozen)
    assert len(factors.add_totp(site, site.ann, session)) == 8
    assert factors.next_steps(site, PASSWORD) == ("totp", "recovery_code")
    change = notice(site, "Two-step verification was set up")
    assert "This was not me" in str(change)
    frozen.advance(60)
    before = factors.state(site, site.ann).factor_version
    recover(site, mail if by == "sign-in" else change)
    assert factors.left(site, site.ann) == NOTHING
    user = factors.state(site, site.ann)
    assert (user.second_factor_at, user.factors_since) == (None, None)
    assert user.factor_version > before
    assert factors.next_steps(site, NEW) == "complete"


def test_the_first_factor_of_a_thief_is_not_one_that_the_account_had_before(site, frozen):
    """Its notice names the change that has set it: where it was set before, it stays asked for."""
    session, _mail = thief(site, frozen)
    factors.add_passkey(site, site.ann, session)
    mail = notice(site, "A passkey was added")
    recover(site, mail)
    assert factors.next_steps(site, NEW) == "complete"


def test_a_swapped_app_goes_and_a_recovery_code_of_the_owner_serves(site, frozen):
    codes = factors.add_totp(site, site.ann)
    site.mails()
    frozen.advance(8 * DAY)
    session, _ = sign_in_as_owner(site)
    frozen.advance(60)
    assert factors.add_totp(site, site.ann, session, secret=b"x" * 20) is None
    change = notice(site, "Two-step verification was set up")
    recover(site, change)
    assert factors.left(site, site.ann) == {"totp": 0, "passkeys": 0, "codes": 8}
    user = factors.state(site, site.ann)
    assert user.second_factor_at is not None
    assert user.factors_since is None
    assert factors.next_steps(site, NEW) == ("recovery_code",)
    # With a recovery code the owner is in, and is asked for no factor any more.
    key = factors.pending_key(site, NEW)
    done = factors.resume(site, key, "recovery_code", code=codes[0])
    assert isinstance(done, gate.Complete)
    assert factors.next_steps(site, NEW) == "complete"


def sign_in_as_owner(site):
    """A browser session of Ann, whatever it needs; its id."""
    from authsite.sign_in.sessions import service
    from authsite.users.account import account_of

    with site.db() as db:
        ctx = factors.context(site, db)
        done = gate.without_proof(account_of(db.get(User, site.ann.id)))
        service.begin(ctx, done, remember=False)
    return session_of(site).id, None


@pytest.mark.parametrize("days", [6, 8])
def test_a_press_of_a_thief_of_the_mailbox_does_not_open_the_account(site, frozen, days):
    """The owner had factors before the sign-in that the link names."""
    factors.add_totp(site, site.ann)
    factors.add_passkey(site, site.ann)
    site.mails()
    frozen.advance(days * DAY)
    mail = notice_of_new_device(site, frozen)
    recover(site, mail)
    if days == 8:
        assert factors.left(site, site.ann) == {"totp": 1, "passkeys": 1, "codes": 8}
        assert factors.next_steps(site, NEW) == ("passkey", "totp", "recovery_code")
    else:  # only the support helps
        assert factors.left(site, site.ann) == NOTHING
        assert factors.next_steps(site, NEW) == ()


def notice_of_new_device(site, frozen):
    """The notice of a sign-in of Ann."""
    from authsite.sign_in import notices
    from authsite.users.account import account_of

    session, _ = sign_in_as_owner(site)
    with site.db() as db:
        account = account_of(db.get(User, site.ann.id))
        notices.send_new_device(factors.context(site, db), account, session)
    mail = notice(site, "New sign-in")
    frozen.advance(60)
    return mail


def test_what_was_added_since_the_sign_in_goes_and_what_was_there_stays(site, frozen):
    factors.add_totp(site, site.ann)
    frozen.advance(8 * DAY)
    session, _ = sign_in_as_owner(site)
    frozen.advance(3600)
    factors.add_passkey(site, site.ann, session)
    site.mails()
    with site.db() as db:  # a new set of codes, which the thief knows
        ctx = factors.context(site, db)
        factors.service.new_codes(ctx, factors.account_of(db.get(User, site.ann.id)), session)
    mail = notice(site, "New recovery codes")
    recover(site, mail)
    assert factors.left(site, site.ann) == {"totp": 1, "passkeys": 0, "codes": 0}
    assert factors.next_steps(site, NEW) == ("totp",)


def test_a_passkey_that_is_left_is_asked_for_after_the_password(site, frozen):
    """It was only a way to sign in: now it is the second factor, which the owner may switch off."""
    factors.add_passkey(site, site.ann)
    frozen.advance(8 * DAY)
    site.mails()
    recover(site, notice_of_new_device(site, frozen))
    user = factors.state(site, site.ann)
    assert user.second_factor_at is not None
    assert user.passkey_after_password
    assert factors.next_steps(site, NEW) == ("passkey", "recovery_code")


def test_a_second_link_does_not_open_what_a_first_one_has_closed(site, frozen):
    factors.add_totp(site, site.ann)
    frozen.advance(6 * DAY)
    site.mails()
    first = notice_of_new_device(site, frozen)
    recover(site, first)
    assert factors.next_steps(site, NEW) == ()
    frozen.advance(60)
    site.mails()
    second = notice_of_new_device(site, frozen)
    recover(site, second)
    assert factors.next_steps(site, NEW) == ()


def test_an_account_without_factors_needs_the_new_password_alone(site, frozen):
    _session, mail = thief(site, frozen)
    recover(site, mail)
    assert factors.next_steps(site, NEW) == "complete"


def test_the_factors_of_an_administrator_stay(site, frozen):
    with site.db() as db:
        db.add(GroupMember(user_id=site.ann.id, group_name="authsite:viewer", created_at=frozen.at))
        db.flush()
        labels.write(db, [site.ann.id])
    factors.add_totp(site, site.ann)
    frozen.advance(DAY)
    site.mails()
    recover(site, notice_of_new_device(site, frozen))
    assert factors.left(site, site.ann) == {"totp": 1, "passkeys": 0, "codes": 8}
    assert factors.next_steps(site, NEW) == ("totp", "recovery_code")


def test_a_change_is_mailed_only_to_a_confirmed_address_and_names_no_secret(site, frozen):
    codes = factors.add_totp(site, site.ann)
    mail = notice(site, "Two-step verification was set up")
    assert all(code not in text_of(mail) for code in codes)
    with site.db() as db:
        db.get(User, site.ann.id).email_verified_at = None
    factors.add_passkey(site, site.ann)
    assert site.mails() == []


def test_a_link_of_a_change_ends_after_three_days(site, frozen):
    session, _mail = thief(site, frozen)
    factors.add_totp(site, site.ann, session)
    mail = notice(site, "Two-step verification was set up")
    frozen.advance(timedelta(days=3).total_seconds() - 1)
    assert site.http.get(link_in(mail)).status_int == 200
    frozen.advance(1)
    assert press(site, link_in(mail)).status_int == 403


def test_the_password_page_of_the_link_signs_no_one_in(site, frozen):
    session, mail = thief(site, frozen)
    factors.add_totp(site, site.ann, session)
    recover(site, mail)
    site.http.get("/account", status=302)
    sign_in(site, password=NEW)
    site.http.get("/account", status=200)


def test_after_a_thief_a_passkey_is_asked_for_again(site, frozen):
    factors.add_passkey(site, site.ann)
    frozen.advance(8 * DAY)
    session, _mail = thief(site, frozen)
    switch(site, True)
    switch(site, False, session)
    assert factors.next_steps(site, PASSWORD) == "complete"
    mail = notice(site, "A passkey is no longer asked for")
    assert "This was not me" in str(mail)
    recover(site, mail)
    user = factors.state(site, site.ann)
    assert user.passkey_after_password is True
    assert "passkey" in factors.next_steps(site, NEW)
