"""A former address is reserved for as long as its owner can take the change back."""

import pytest

from authsite.users import service as users
from authsite.users.errors import IdentifierTaken
from authsite.users.models import LoginName
from tests.account.test_email_change import change, complete, errors_of, path_in
from tests.support.acting import acting
from tests.support.mails import text_of
from tests.support.pages import sign_in, submit
from tests.support.site import PASSWORD
from tests.verification.story import NEW, OLD, Story
from tests.verification.test_cancel_change import press


@pytest.fixture
def story(site):
    return Story(site)


@pytest.mark.control("F19")
def test_until_it_expires_nobody_else_can_take_the_former_address(story, frozen):
    site = story.site
    story.change()
    body = {"email": "Ann@Example.com", "password": PASSWORD}
    assert errors_of(site.http.post_json("/v1/register", body, status=422)) == [("taken", "email")]
    with site.db() as db, pytest.raises(IdentifierTaken):
        users.create(acting(db), [Name(OLD)], None)
    site.user("bo@example.com", confirmed=True)
    token = site.login(story.keys, "bo@example.com")["access_token"]
    assert errors_of(change(site, token, OLD, status=422)) == [("taken", "email")]
    frozen.advance(72 * 3600)
    site.http.post_json("/v1/register", body, status=201)


class Name:
    """An address as `users.create` takes it."""

    def __init__(self, text):
        self.kind, self.key, self.display = "email", text, text


@pytest.mark.control("F19")
def test_a_change_that_was_requested_before_does_not_take_it_either(story):
    """Bo's link to the address was mailed while it was free."""
    site = story.site
    site.user("bo@example.com", confirmed=True)
    token = site.login(story.keys, "bo@example.com")["access_token"]
    change(site, token, "free@example.org")
    bos = next(path_in(site, mail) for mail in site.mails() if mail["To"] == "free@example.org")
    story.change(OLD, "free@example.org")
    story.change("free@example.org", NEW)
    assert errors_of(complete(site, bos, token, 422)) == [("taken", "email")]
    with site.db() as db:
        assert db.get(LoginName, "bo@example.com") is not None


@pytest.mark.control("L04")
def test_with_prevent_enumeration_a_reserved_address_looks_like_a_free_one(site_with):
    site = site_with(prevent_enumeration="true")
    story = Story(site)
    story.change()
    answers = [
        site.http.post_json("/v1/register", {"email": email, "password": PASSWORD}, status=202)
        for email in (OLD, "free@example.org")
    ]
    assert answers[0].body == answers[1].body
    with site.db() as db:
        assert db.get(LoginName, OLD) is None
    site.user("bo@example.com", confirmed=True)
    token = site.login(story.keys, "bo@example.com")["access_token"]
    free, reserved = (change(site, token, email) for email in ("x@example.org", OLD))
    assert free.body == reserved.body


def test_the_user_may_take_the_own_former_address_again_and_the_link_stays(story):
    link = story.change()
    story.change(NEW, OLD)
    assert story.now().email == OLD
    assert press(story.site, link).status_int == 200
    assert (story.now().email, story.now().password_hash) == (OLD, None)
    assert [mail["To"] for mail in story.site.mails()] == [OLD]  # no notice to itself


@pytest.mark.control("F19")
def test_an_address_that_was_never_confirmed_gets_a_notice_without_links(site):
    story = Story(site, confirmed=False)
    assert story.change() is None
    assert "http" not in text_of(story.notice)
    assert story.kept() == []
    body = {"email": OLD, "password": PASSWORD}
    site.http.post_json("/v1/register", body, status=201)  # it is free at once


def test_an_erased_user_leaves_nothing_and_the_address_is_free(story):
    site, link = story.site, story.change()
    sign_in(site, NEW)
    fields = {"current_password": PASSWORD}
    assert submit(site, "/account/delete", page="/account", **fields).status_int == 303
    assert story.kept() == []
    assert site.http.get(link, status=403)
    site.http.post_json("/v1/register", {"email": OLD, "password": PASSWORD}, status=201)


def test_the_cleanup_deletes_what_no_link_can_restore(story, frozen):
    from authsite.platform.tasks.cleanup import steps

    story.change()
    for seconds, left in ((72 * 3600 - 1, [OLD]), (1, [])):
        frozen.advance(seconds)
        with story.site.database.autocommit.connect() as connection:
            for _ in steps(connection, story.site.app.registry["authsite"]):
                pass
        assert story.kept() == left
