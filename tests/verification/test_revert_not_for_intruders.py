"""The owner has the account again by another way than the link: the intruder's links have ended."""

import pytest

from authsite.users.models import User
from authsite.verification.email_change import set_address
from tests.support.acting import acting
from tests.support.mails import text_of
from tests.verification.story import NEW, OLD, THIRD, Story
from tests.verification.test_cancel_change import press


@pytest.fixture
def story(site):
    return Story(site)


@pytest.mark.control("F19")
@pytest.mark.parametrize("address", [OLD, "ann@other.example"])
def test_an_administrator_who_sets_the_address_ends_all_links(story, address):
    links = [story.change(), story.change(NEW, THIRD)]
    with story.site.db() as db:
        set_address(acting(db), db.get(User, story.user.id), address)
    for link in links:
        assert press(story.site, link, page="/login").status_int == 403
    assert story.now().email == address
    assert story.kept() == []


@pytest.mark.control("F19")
def test_an_owner_who_changes_back_leaves_no_link_to_the_addresses_in_between(story, frozen):
    first = story.change()
    frozen.advance(3600)
    second = story.change(NEW, THIRD)
    assert story.change(THIRD, OLD) is None
    assert "http" not in text_of(story.notice)
    assert story.kept() == [OLD]
    assert press(story.site, second, page="/login").status_int == 403
    assert press(story.site, first).status_int == 200
    assert story.now().email == OLD


def test_once_the_first_link_has_expired_the_address_is_one_like_any_other(story, frozen):
    story.change()
    frozen.advance(72 * 3600)
    assert story.change(NEW, OLD) is not None
