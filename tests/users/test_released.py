"""A username that was given up or erased: for 180 days only its former holder can take it."""

from datetime import timedelta
from threading import Event
from time import sleep

import pytest
from sqlalchemy import select
from sqlalchemy.orm import Session

from authsite.account.service import change_as_administrator
from authsite.platform.rate_limit.limiter import subject_key
from authsite.platform.runtime import clock
from authsite.transfer.importing import sources
from authsite.transfer.importing import users as importing
from authsite.transfer.importing.rows import Row
from authsite.users import former
from authsite.users import service as users
from authsite.users.errors import IdentifierTaken
from authsite.users.models import LoginName, ReleasedUsername, User
from authsite.users.service import erase
from tests.support.acting import acting
from tests.support.site import PASSWORD, SECRET, bearer
from tests.support.together import together

pytestmark = pytest.mark.both_databases(each_value=True)
TAKEN = [("taken", "username")]
DAY = 24 * 3600


@pytest.fixture
def named(site_with):
    return site_with(login_identifiers="email username")


def register(site, username, status=201, email="bo@example.com"):
    body = {"email": email, "username": username, "password": PASSWORD}
    answer = site.http.post_json("/v1/register", body, status=status)
    return [(each["code"], each["field"]) for each in answer.json.get("errors", [])]


def rename(site, user, username):
    with site.db() as db:
        found = db.get(User, user.id)
        ctx = acting(db, site.app.registry["authsite"])
        change_as_administrator(ctx, found, None, {"username": username})


def erased(site, user):
    with site.db() as db:
        erase(acting(db, site.app.registry["authsite"]), user.id, None)


@pytest.mark.parametrize("new", ["annlee", ""])
def test_a_username_that_was_changed_or_removed_is_free_for_others_after_180_days(
    named, frozen, new
):
    named.user(username="ann")
    bearing = bearer(named.login(named.client())["access_token"])
    named.http.patch_json("/v1/user", {"username": new}, headers=bearing)
    assert register(named, "Ann", 422) == TAKEN
    named.user("cy@example.com")
    bearing = bearer(named.login(named.client(), "cy@example.com")["access_token"])
    answer = named.http.patch_json("/v1/user", {"username": "ann"}, headers=bearing, status=422)
    assert [(each["code"], each["field"]) for each in answer.json["errors"]] == TAKEN
    frozen.advance(180 * DAY - 1)
    assert register(named, "ann", 422) == TAKEN
    frozen.advance(1)
    assert register(named, "ann") == []


def test_the_former_holder_can_take_it_again_and_again(named):
    ann = named.user(username="ann")
    for name in ("annlee", "ann", "", "ann", "annlee"):
        rename(named, ann, name)
    with named.db() as db:
        assert db.get(User, ann.id).username == "annlee"
        assert {row.user_id for row in db.scalars(select(ReleasedUsername))} == {ann.id}
    assert register(named, "ann", 422) == TAKEN


def test_the_username_of_an_erased_user_and_all_that_they_gave_up_are_kept_from_everyone(
    named, frozen
):
    ann = named.user(username="ann")
    rename(named, ann, "annlee")
    erased(named, ann)
    for name in ("ann", "annlee"):
        assert register(named, name, 422, "ann@example.com") == TAKEN
    with named.db() as db:
        rows = db.scalars(select(ReleasedUsername)).all()
        assert [row.user_id for row in rows] == [None, None]
    assert register(named, None, 201, "ann@example.com") == []  # the address is free at once
    frozen.advance(180 * DAY)
    assert register(named, "ann") == []


def test_a_later_holder_who_gives_it_up_is_the_former_holder_then(named, frozen):
    ann, bo = named.user(username="ann"), named.user("bo@example.com")
    rename(named, ann, "")
    frozen.advance(180 * DAY)
    rename(named, bo, "ann")
    rename(named, bo, "bobby")
    with pytest.raises(IdentifierTaken):
        rename(named, ann, "ann")
    rename(named, bo, "ann")


def test_with_prevent_enumeration_it_is_an_error_like_a_taken_name(site_with):
    site = site_with(login_identifiers="email username", prevent_enumeration="true")
    ann = site.user(username="ann")
    taken = register(site, "ann", 422)
    rename(site, ann, "")
    assert register(site, "ann", 422) == taken == TAKEN


def test_an_address_and_a_username_that_are_reserved_are_both_named(named):
    erased(named, named.user(username="ann"))
    named.user("bo@example.com")
    assert register(named, "ann", 422) == [("taken", "email"), *TAKEN]


def test_a_failed_change_gives_nothing_up(named):
    ann = named.user(username="ann")
    named.user("bo@example.com", username="bobby")
    with pytest.raises(IdentifierTaken):
        rename(named, ann, "bobby")
    with named.db() as db:
        assert db.get(User, ann.id).username == "ann"
        assert db.scalars(select(ReleasedUsername)).all() == []


@pytest.mark.parametrize("ended", [False, True])
def test_neither_a_rotation_of_the_secret_nor_the_end_of_the_old_one_frees_a_name(site_with, ended):
    new = "aNewSecretForTheNextYears-8d7f6s5a4p3o2i1u"
    limits_key = subject_key(site_with().cfg)  # `authsite secret rotate` writes it down
    if ended:
        rotated = site_with(secret=new, limits_key=limits_key).cfg
    else:
        rotated = site_with(secret=f"{new} {SECRET}").cfg
    named = site_with(login_identifiers="email username")
    erased(named, named.user(username="ann"))
    with named.db() as db:
        assert former.find_reserved_username(rotated, db, [ANN]) == ["ann"]


def test_an_import_refuses_it(named):
    erased(named, named.user(username="ann"))
    user = {"id": "1", "email": "ann@example.com", "username": "ann", "password_hash": None}
    with named.db() as db:
        rules = importing.Rules(named.cfg, "x", sources.user)
        ctx = acting(db, named.app.registry["authsite"])
        [outcome] = importing.write(ctx, rules, [Row(1, user, 1)])
    assert (outcome.result, outcome.field) == ("refused", "username")
    assert outcome.reason == "is taken: it was given up or erased less than 180 days ago"


def test_the_cleanup_deletes_what_anyone_can_take_again(named, frozen):
    erased(named, named.user(username="ann"))
    frozen.advance(DAY)
    erased(named, named.user(username="annlee"))
    frozen.advance(179 * DAY)
    with named.database.transactional.begin() as connection:
        assert (
            sum(each.deleted for each in former.purge_released(connection, clock.now(), named.cfg))
            == 1
        )
    assert register(named, "ann") == []
    assert register(named, "annlee", 422, "cy@example.com") == TAKEN


@pytest.mark.parametrize("backend", ["postgresql"], indirect=True)  # SQLite has one writer
@pytest.mark.parametrize("give_up", ["change", "erase"])
def test_who_waits_for_a_name_that_is_being_given_up_does_not_get_it(named, give_up):
    """The look-up comes after the login name is inserted, which waits for the holder's change."""
    ann, services = named.user(username="ann"), named.app.registry["authsite"]
    found, given_up = [], Event()

    def take():
        assert given_up.wait(20)
        with Session(named.database.transactional) as db:
            try:
                users.create(acting(db, services), [Name("email", "bo@example.com"), ANN], None)
            except IdentifierTaken as error:
                found.append([item.field for item in error.details])

    def leave():
        with Session(named.database.transactional) as db:
            ctx = acting(db, services)
            if give_up == "erase":
                erase(ctx, ann.id, None)
            else:
                change_as_administrator(ctx, db.get(User, ann.id), None, {"username": ""})
            db.flush()
            given_up.set()
            deadline = clock.now() + timedelta(seconds=10)
            while not blocked(named) and clock.now() < deadline:
                sleep(0.01)
            db.commit()

    together(leave, take)
    assert found == [["username"]]
    with named.db() as db:
        assert db.scalars(select(LoginName.key).where(LoginName.kind == "username")).all() == []


def blocked(site):
    """Whether a connection to the database waits for another's lock."""
    query = "SELECT count(*) FROM pg_stat_activity WHERE wait_event_type = 'Lock'"
    with site.database.autocommit.connect() as connection:
        return connection.exec_driver_sql(query).scalar() > 0


class Name:
    """A login name as `users.create` takes it."""

    def __init__(self, kind, text):
        self.kind, self.key, self.display = kind, text, text


ANN = Name("username", "ann")


def test_a_user_reserves_the_ten_newest_names_and_no_more(named, frozen):
    user = named.user(username="name0")
    for number in range(1, 12):
        frozen.advance(1)
        rename(named, user, f"name{number}")
    assert register(named, "name0") == []
    assert register(named, "name1", 422, "cy@example.com") == TAKEN
    assert register(named, "name10", 422, "cy@example.com") == TAKEN
