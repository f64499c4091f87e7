"""Search users: order, cursors, filters, what no index answers, what takes too long."""

import uuid
from datetime import timedelta

import pytest
from sqlalchemy import update

from authsite.admin import lists
from authsite.admin.errors import InvalidCursor, SearchTooWide
from authsite.admin.guard import COMMAND, Administrator
from authsite.admin.users import search as module
from authsite.admin.users.search import Wanted, count, search
from authsite.groups import members
from authsite.platform.runtime import clock
from authsite.users.groups.labels import Group
from authsite.users.models import User
from tests.support.acting import acting

pytestmark = pytest.mark.both_databases(each_value=True)
NAMES = ("ann", "Anna", "bob", "cat")


@pytest.fixture
def ctx(site):
    """A context without session: the search has its own."""
    return acting(None, site.app.registry["authsite"])


@pytest.fixture
def people(site):
    """Users, one a minute after the other."""
    found = [site.user(f"{name.lower()}@example.com", confirmed=True) for name in NAMES]
    with site.db() as db:
        for number, (user, name) in enumerate(zip(found, NAMES, strict=True)):
            created = clock.now() - timedelta(hours=1) + timedelta(minutes=number)
            row = db.get(User, user.id)
            row.created_at, row.name = created, f"{name} X"
    return found


def set_values(site, user, **values):
    with site.db() as db:
        db.execute(update(User).where(User.id == user.id).values(values))


def all_of(ctx, wanted, limit=1):
    """The names of the addresses, page after page."""
    names, cursor = [], None
    while True:
        page = search(ctx, COMMAND, wanted, cursor=cursor, limit=limit)
        assert len(page.rows) <= limit
        names += [user.email.partition("@")[0] for user in page.rows]
        cursor = page.next
        if cursor is None:
            return names


def test_without_a_text_the_newest_come_first(ctx, people):
    assert all_of(ctx, Wanted()) == ["cat", "bob", "anna", "ann"]
    assert all_of(ctx, Wanted(), limit=4) == all_of(ctx, Wanted(), limit=3)


def test_who_comes_in_between_is_neither_skipped_nor_repeated(site, ctx, people):
    first = search(ctx, COMMAND, Wanted(), limit=2)
    site.user("new@example.com")
    rest = search(ctx, COMMAND, Wanted(), cursor=first.next)
    assert [user.email[:3] for user in [*first.rows, *rest.rows]] == ["cat", "bob", "ann", "ann"]


@pytest.mark.parametrize(
    ("q", "found"),
    [
        ("ann", ["ann", "anna"]),
        (" ANN@Example.com ", ["ann"]),
        ("ann@", ["ann"]),
        ("nn", []),
        ("name:anna", ["anna"]),
        ("name: ANN", ["ann", "anna"]),
        ("name:x", []),
        ("%", []),
        ("x" * 400, []),
    ],
)
def test_a_text_is_the_beginning_of_a_login_name_or_of_a_name(ctx, people, q, found):
    assert all_of(ctx, Wanted(q)) == found


def test_a_text_is_an_id(ctx, people):
    assert all_of(ctx, Wanted(str(people[2].id))) == ["bob"]
    assert all_of(ctx, Wanted(str(uuid.uuid4()))) == []


def test_a_user_with_two_names_that_begin_so_is_found_once(site_with):
    site = site_with(login_identifiers="email username phone")
    for name, phone in (("anton", "+4915112345678"), ("annika", "+4915112345679")):
        site.user(f"{name}@example.com", username=name, phone=phone)
    ctx = acting(None, site.app.registry["authsite"])
    assert all_of(ctx, Wanted("an")) == ["annika", "anton"]
    assert all_of(ctx, Wanted("+49 151 12345678")) == ["anton"]


def test_filters_agree_with_each_other(site, ctx, people):
    ann, anna, bob, _cat = people
    set_values(site, ann, disabled_at=clock.now())
    set_values(site, anna, disabled_at=clock.now(), email_verified_at=None)
    set_values(site, bob, email_verified_at=None, factors_since=clock.now())
    assert all_of(ctx, Wanted(disabled=True)) == ["anna", "ann"]
    assert all_of(ctx, Wanted(disabled=False)) == ["cat", "bob"]
    assert all_of(ctx, Wanted(confirmed=False)) == ["bob", "anna"]
    assert all_of(ctx, Wanted(disabled=True, confirmed=False)) == ["anna"]
    assert all_of(ctx, Wanted("ann", confirmed=True)) == ["ann"]
    assert all_of(ctx, Wanted(without_factor=True)) == ["cat", "anna", "ann"]
    after = clock.now() - timedelta(minutes=58, seconds=30)
    assert all_of(ctx, Wanted(created_after=after)) == ["cat", "bob"]
    assert all_of(ctx, Wanted("name:", created_after=after, disabled=False)) == ["bob", "cat"]


def test_the_members_of_a_group(site, ctx, people):
    with site.db() as db:
        now = clock.now()
        db.add(Group(name="ops", title="Ops", scopes="", created_at=now, updated_at=now))
        db.flush()
        for user in people[:3]:
            members.enter(acting(db, site.app.registry["authsite"]), "ops", user.id)
    in_order = [user.email[:-12] for user in sorted(people[:3], key=lambda user: user.id)]
    assert all_of(ctx, Wanted(group="ops")) == in_order
    assert all_of(ctx, Wanted("bob", group="ops")) == ["bob"]
    assert all_of(ctx, Wanted("cat", group="ops")) == []
    assert all_of(ctx, Wanted(group="none")) == []


def test_what_no_index_answers_is_looked_for_among_some_rows_at_a_time(
    site, ctx, people, monkeypatch
):
    monkeypatch.setattr(module, "WALK", 2)
    monkeypatch.setattr(module, "SHORT_WALK", 2)
    for user in people[1:]:
        set_values(site, user, factors_since=clock.now())
    page = search(ctx, COMMAND, Wanted(without_factor=True))
    assert (list(page.rows), page.next is None) == ([], False)
    assert all_of(ctx, Wanted(without_factor=True)) == ["ann"]
    assert count(ctx, Wanted(without_factor=True)) == (0, True)
    assert count(ctx, Wanted(without_factor=True), walk=9) == (1, False)  # as a page does
    page = search(ctx, COMMAND, Wanted(without_factor=True), walk=9)
    assert ([user.email for user in page.rows], page.next) == ([people[0].email], None)


def test_users_are_counted_to_a_number(ctx, people, monkeypatch):
    assert count(ctx, Wanted()) == (4, False)
    assert count(ctx, Wanted("ann")) == (2, False)
    monkeypatch.setattr(module, "COUNTED", 3)
    assert count(ctx, Wanted()) == (3, True)


def test_a_cursor_is_of_one_list_and_one_caller(ctx, people):
    cursor = search(ctx, COMMAND, Wanted(), limit=1).next
    with pytest.raises(InvalidCursor):
        search(ctx, COMMAND, Wanted(disabled=False), cursor=cursor)
    with pytest.raises(InvalidCursor):
        search(ctx, Administrator("user", frozenset(), people[0].id), Wanted(), cursor=cursor)


def test_a_search_that_takes_too_long_is_refused(ctx, people, monkeypatch):
    monkeypatch.setattr(lists, "LIMIT", 0.1)
    monkeypatch.setattr(lists, "STEPS", 1)
    endless = (
        "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 100000000)"
        " SELECT count(*) FROM n"
    )
    with pytest.raises(SearchTooWide), lists.limited(ctx) as db:
        db.connection().exec_driver_sql(endless)
    monkeypatch.undo()
    assert len(search(ctx, COMMAND, Wanted()).rows) == 4
