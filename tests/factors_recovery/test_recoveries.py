"""Reset, revert and a password of an administrator: factors of a week stay, and are asked for."""

from datetime import timedelta

import pytest

from authsite.sign_in import gate
from authsite.sign_in.factors import remembered
from authsite.users.groups import labels
from authsite.users.groups.labels import GroupMember
from authsite.users.models import User
from tests.support import factors
from tests.support.in_process import Commands
from tests.support.mails import text_of
from tests.support.notices import NEW, reset, site_of_ann
from tests.support.site import PASSWORD
from tests.verification.story import OLD, Story
from tests.verification.test_cancel_change import press as press_undo

DAY = 24 * 3600
NOTHING = {"totp": 0, "passkeys": 0, "codes": 0}
THREE = ("passkey", "totp", "recovery_code")
ALL = {"totp": 1, "passkeys": 1, "codes": 8}


@pytest.fixture
def site(site_with, frozen):
    return site_of_ann(site_with)


def enroll(site, user):
    factors.add_totp(site, user)
    factors.add_passkey(site, user)


def by_reset(site, frozen, days, tmp_path):
    enroll(site, site.ann)
    frozen.advance(days * DAY)
    reset(site)
    return site.ann, NEW


def by_command(site, frozen, days, tmp_path):
    enroll(site, site.ann)
    frozen.advance(days * DAY)
    arguments = ("user", "set-password", "ann@example.com", "--password-stdin")
    said = Commands(site, tmp_path).run(*arguments, stdin=f"{NEW}\n").stdout
    assert ("factors stay" in said) == (days == 8)
    return site.ann, NEW


@pytest.mark.parametrize("days", [6, 8])
@pytest.mark.parametrize("way", [by_reset, by_command])
def test_factors_of_a_week_stay_and_younger_ones_go(site, frozen, tmp_path, way, days):
    user, password = way(site, frozen, days, tmp_path)
    if days == 8:
        assert factors.left(site, user) == ALL
        assert factors.next_steps(site, password) == THREE
    else:
        assert factors.left(site, user) == NOTHING
        row = factors.state(site, user)
        assert (row.second_factor_at, row.factors_since) == (None, None)
        assert factors.next_steps(site, password) == "complete"


def test_a_swapped_factor_is_as_old_as_the_first_one(site, frozen):
    """The account has had a factor without a break: only "This was not me" removes the thief's."""
    factors.add_totp(site, site.ann)
    frozen.advance(8 * DAY)
    factors.add_totp(site, site.ann, secret=b"y" * 20)
    reset(site)
    assert factors.left(site, site.ann)["totp"] == 1
    assert factors.next_steps(site, NEW) == ("totp", "recovery_code")


@pytest.mark.parametrize("days", [0, 6])
def test_an_administrator_keeps_young_factors(site, frozen, days):
    with site.db() as db:
        row = GroupMember(user_id=site.ann.id, group_name="authsite:owner", created_at=frozen.at)
        db.add(row)
        db.flush()
        labels.write(db, [site.ann.id])
    enroll(site, site.ann)
    frozen.advance(days * DAY)
    reset(site)
    assert factors.left(site, site.ann) == ALL
    assert factors.next_steps(site, NEW) == THREE


def test_pending_logins_and_remembered_browsers_end(site, frozen):
    factors.add_totp(site, site.ann)
    frozen.advance(8 * DAY)
    key = factors.pending_key(site, PASSWORD)
    with site.db() as db:
        remembered.remember(factors.context(site, db), site.ann.id)
    reset(site)
    with pytest.raises(gate.PendingEnded):
        factors.resume(site, key, "totp", code=factors.code_now())
    with site.db() as db:
        assert db.query(remembered.RememberedBrowser).count() == 0


@pytest.mark.parametrize("days", [6, 8])
def test_the_mail_names_the_factors_that_stay(site, frozen, days):
    enroll(site, site.ann)
    frozen.advance(days * DAY)
    site.mails()
    reset(site)
    [mail] = site.mails()
    for words in ("Authenticator app, added on", "Passkey “Key”, added on"):
        assert (words in text_of(mail)) == (days == 8)


def test_a_new_address_and_a_sign_out_keep_the_factors(site, frozen, tmp_path):
    enroll(site, site.ann)
    commands = Commands(site, tmp_path)
    commands.run("user", "sign-out", "ann@example.com")
    commands.run("user", "set-email", "ann@example.com", "ann@example.net", "--confirmed")
    assert factors.left(site, site.ann) == ALL
    steps = factors.next_steps(site, PASSWORD, "ann@example.net")
    assert steps == THREE


@pytest.mark.parametrize("days", [6, 8])
def test_a_revert_keeps_the_factors_of_a_week(site_with, frozen, days):
    story = Story(site_with())
    site, revert = story.site, story.change()
    enroll(site, story.user)
    with site.db() as db:  # the link does not last for a week
        db.get(User, story.user.id).factors_since = frozen.at - timedelta(days=days)
    press_undo(site, revert)
    assert story.now().email == OLD
    assert factors.left(site, story.user) == (ALL if days == 8 else NOTHING)
    assert (story.now().second_factor_at is not None) == (days == 8)


def test_a_waiting_account_stays_closed_at_a_reset(site, frozen):
    """After "This was not me" without a factor left, the mailbox alone does not open it."""
    with site.db() as db:
        user = db.get(User, site.ann.id)
        user.second_factor_at, user.factors_since = frozen.at, None
    reset(site)
    assert factors.next_steps(site, NEW) == ()
