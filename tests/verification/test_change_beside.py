"""A change of address changes one user's address and login name, whatever those of others are."""

import pytest
from sqlalchemy import update

from authsite.users.errors import AddressTaken
from authsite.users.models import LoginName, User
from authsite.verification import email_change
from authsite.verification.errors import InvalidSignature
from tests.account.test_email_change import change, complete, errors_of, paths_to
from tests.support.acting import acting
from tests.support.beside import HIGHEST, LOWEST, add_beside, changed, stored
from tests.support.mails import text_of
from tests.verification.story import Story
from tests.verification.test_cancel_change import press
from tests.verification.test_propose_address import propose

OTHERS = {LOWEST: "low@example.org", HIGHEST: "high@example.org"}


@pytest.fixture
def ann(site):
    """Ann with names of all kinds, and the users beside her with other addresses."""
    made = site.user(confirmed=True, username="ann", phone="+4930123456")
    with site.db() as db:
        add_beside(db, db.get(User, made.id))
        for id_, email in OTHERS.items():
            db.execute(update(User).where(User.id == id_).values(email=email))
            db.add(LoginName(key=email, kind="email", user_id=id_))
    return made


def names(site):
    with site.db() as db:
        return {name.key: (name.kind, name.user_id) for name in db.query(LoginName)}


def test_the_address_of_anybody_else_is_taken_and_the_own_one_is_not(site, ann):
    token = site.login(site.client())["access_token"]
    for email in OTHERS.values():
        assert errors_of(change(site, token, email, status=422)) == [("taken", "email")]
        with pytest.raises(AddressTaken):
            propose(site, ann, email)
    change(site, token, "Ann@Example.com")
    propose(site, ann, "Ann@Example.com")


def test_a_completed_change_replaces_one_address_and_one_login_name(site, ann):
    before, names_before = stored(site, User), names(site)
    token = site.login(site.client())["access_token"]
    change(site, token)
    [path] = paths_to(site, "anna@example.org")
    complete(site, path, token)
    assert changed(before, stored(site, User)) == {ann.id}
    del names_before["ann@example.com"]
    assert names(site) == {**names_before, "anna@example.org": ("email", ann.id)}


@pytest.mark.parametrize("email", ["a@example.org", "anna@example.orh", "z@example.org"])
def test_only_the_pending_address_is_completed(site, ann, email):
    change(site, site.login(site.client())["access_token"])
    with site.db() as db:
        ctx, user = acting(db, site.app.registry["authsite"]), db.get(User, ann.id)
        with pytest.raises(InvalidSignature):
            email_change.complete_change(ctx, user, email, session_id=None, notify=False)


@pytest.mark.parametrize("new", ["a@example.org", "z@example.org"])
def test_the_address_that_was_removed_gets_a_notice(site, new):
    story = Story(site)
    press(site, story.change(new=new))
    assert {mail["To"]: "/password/reset/" in text_of(mail) for mail in site.mails()} == {
        "ann@example.com": True,
        new: False,
    }
