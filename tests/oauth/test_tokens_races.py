"""Requests that meet. Two applications that share nothing but the database stand for processes.

The first half lets threads collide; the second puts the other request exactly between two
statements.
"""

import pytest
from webtest import TestApp

from authsite.users import service as users
from authsite.users.models import User
from tests.support.acting import acting
from tests.support.site import Site, bearer
from tests.support.statements import stepping_between
from tests.support.together import together

ROUNDS = 10
PARALLEL = 20


@pytest.fixture
def pair_of(site_with):
    """Two applications with these settings on one database, with a user."""
    made = []

    def two(**settings):
        first = site_with(**settings)
        first.user()
        made.append(Site(first.url, **settings))
        return first, made[-1]

    yield two
    for site in made:
        site.database.dispose()


@pytest.fixture
def two(pair_of):
    return pair_of()


def refresher(site, keys, token, **more):
    form = keys.form(grant_type="refresh_token", refresh_token=token, **more)
    http = TestApp(site.app)
    return lambda: http.post("/v1/oauth/token", form, status=(200, 400))


def good(responses):
    return [response.json for response in responses if response.status_int == 200]


def pairs(responses):
    return {(each["access_token"], each["refresh_token"]) for each in good(responses)}


@pytest.mark.control("T12")
def test_parallel_refreshes_of_one_token_give_exactly_one_successor_pair(two):
    keys = two[0].client(scope="a b")
    tokens = two[0].login(keys, scope="a b")
    for generation in range(1, ROUNDS + 1):
        # Each application asks for a separate scope, so that a second winner would show.
        responses = together(
            *(
                refresher(two[number % 2], keys, tokens["refresh_token"], scope="ab"[number % 2])
                for number in range(PARALLEL)
            )
        )
        assert len(good(responses)) == PARALLEL
        assert len(pairs(responses)) == 1
        [family] = two[0].families()
        assert (family.generation, family.revoked_at) == (generation, None)
        got_the_requested_scope = {
            "ab"[number % 2] for number, each in enumerate(good(responses)) if "scope" not in each
        }
        assert got_the_requested_scope == {family.scope}
        tokens = good(responses)[0]
        two[1].me(tokens["access_token"])


@pytest.mark.control("T12")
def test_without_grace_one_of_the_parallel_refreshes_wins_and_the_rest_are_reuse(pair_of):
    two = pair_of(refresh_grace="0s")
    keys = two[0].client()
    for _ in range(ROUNDS):
        first = two[0].login(keys)
        responses = together(
            *(refresher(two[number % 2], keys, first["refresh_token"]) for number in range(8))
        )
        assert len(good(responses)) <= 1
    assert all(family.generation == 1 for family in two[0].families())
    assert {family.revoked_why for family in two[0].families()} == {"reuse"}


@pytest.mark.control("T13")
def test_after_a_logout_no_concurrent_refresh_leaves_an_active_token(two):
    keys = two[0].client()
    for _ in range(2 * ROUNDS):
        first = two[0].login(keys)
        out = TestApp(two[1].app)
        headers = bearer(first["access_token"])
        responses = together(
            lambda out=out, headers=headers: out.delete("/v1/logout", headers=headers, status=200),
            *(refresher(two[number % 2], keys, first["refresh_token"]) for number in range(3)),
        )
        for tokens in (first, *good(responses[1:])):
            two[0].me(tokens["access_token"], status=401)
            two[1].refresh(keys, tokens["refresh_token"], status=400)


@pytest.mark.control("T19")
def test_a_sign_out_that_meets_logins_leaves_only_those_that_came_after_it(two):
    keys = two[0].client()
    with two[0].db() as db:
        ann = db.query(User).one().id

    def login(site):
        http = TestApp(site.app)
        form = keys.form(grant_type="password", username="ann@example.com",
                         password="correct horse battery")  # fmt: skip
        return lambda: http.post("/v1/oauth/token", form, status=(200, 400))

    def sign_out():
        with two[1].db() as db:
            users.sign_out(acting(db), db.get(User, ann))

    for _ in range(ROUNDS // 2):
        responses = together(login(two[0]), login(two[1]), sign_out)
        with two[0].db() as db:
            epoch = db.get(User, ann).epoch
        alive = sum(
            two[0].http.get(
                "/v1/user", headers=bearer(each["access_token"]), status=(200, 401)
            ).status_int == 200
            for each in good(responses[:2])
        )  # fmt: skip
        assert alive == sum(
            family.user_epoch == epoch for family in two[0].families()[-len(good(responses[:2])) :]
        )


@pytest.mark.control("T12")
def test_a_refresh_that_is_overtaken_gets_the_winners_pair(two):
    one, other = two
    keys = one.client(scope="a b")
    first = one.login(keys, scope="a b")
    won = []

    def overtake():
        won.append(other.refresh(keys, first["refresh_token"], scope="a"))

    with stepping_between(one.database.prepared, "before", "UPDATE families", overtake) as done:
        lost = one.refresh(keys, first["refresh_token"], scope="b")
    assert done
    assert lost["access_token"] == won[0]["access_token"]
    assert lost["refresh_token"] == won[0]["refresh_token"]
    assert lost["scope"] == "a"
    assert one.families()[0].generation == 1


@pytest.mark.control("T13")
def test_a_refresh_that_is_overtaken_by_a_logout_gets_nothing(two):
    one, other = two
    keys = one.client()
    first = one.login(keys)

    def overtake():
        other.logout(first["access_token"])

    with stepping_between(one.database.prepared, "before", "UPDATE families", overtake) as done:
        answer = one.refresh(keys, first["refresh_token"], status=400)
    assert done
    assert answer["error"] == "invalid_grant"
    assert one.families()[0].generation == 0


@pytest.mark.both_databases
@pytest.mark.control("T19")
@pytest.mark.parametrize("moment", ["before", "after"])
def test_an_epoch_raised_around_the_insert_of_a_login_leaves_no_active_token(two, moment):
    one, other = two
    keys = one.client()
    with one.db() as db:
        ann = db.query(User).one().id

    def sign_out():
        with other.db() as db:
            users.sign_out(acting(db), db.get(User, ann))

    with stepping_between(one.database.prepared, moment, "INSERT INTO families", sign_out) as done:
        form = {"username": "ann@example.com", "password": "correct horse battery"}
        answer = one.token(keys, "*", grant_type="password", **form)
    assert done
    if moment == "before":
        assert answer.json["error"] == "invalid_grant"
        assert one.families() == []
    else:
        other.me(answer.json["access_token"], status=401)
        one.refresh(keys, answer.json["refresh_token"], status=400)


@pytest.mark.control("T19")
def test_an_epoch_raised_in_the_middle_of_a_refresh_leaves_no_active_token(two):
    one, other = two
    keys = one.client()
    first = one.login(keys)
    with one.db() as db:
        ann = db.query(User).one().id

    def sign_out():
        with other.db() as db:
            users.sign_out(acting(db), db.get(User, ann))

    with stepping_between(one.database.prepared, "before", "UPDATE families", sign_out) as done:
        form = {"grant_type": "refresh_token", "refresh_token": first["refresh_token"]}
        answer = one.token(keys, "*", **form)
    assert done
    for tokens in (first, answer.json):
        if "access_token" in tokens:
            other.me(tokens["access_token"], status=401)
            one.refresh(keys, tokens["refresh_token"], status=400)
