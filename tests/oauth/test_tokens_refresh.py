"""Rotation: one successor, a short grace for the generation before, reuse ends the family."""

import pytest
from sqlalchemy import update

from authsite.oauth.models import Family
from authsite.oauth.tokens import families
from authsite.oauth.tokens.format import ACCESS, REFRESH
from authsite.platform.http.request_info import RequestInfo
from tests.support.acting import acting
from tests.support.extent import volume

TOKENS = ("access_token", "refresh_token")


@pytest.fixture
def keys(site):
    site.user()
    return site.client()


@pytest.fixture
def strict(site_with):
    """A site without grace, with a user."""
    site = site_with(refresh_grace="0s")
    site.user()
    return site


def pair(answer):
    return tuple(answer[name] for name in TOKENS)


def test_a_refresh_gives_two_new_tokens_that_work(site, keys):
    first = site.login(keys)
    second = site.refresh(keys, first["refresh_token"])
    assert len({*pair(first), *pair(second)}) == 4
    site.me(second["access_token"])
    site.refresh(keys, second["refresh_token"])


def test_many_refreshes_leave_one_family_row(site, keys):
    count = volume(100, 1000)
    tokens = site.login(keys)
    for _ in range(count):
        tokens = site.refresh(keys, tokens["refresh_token"])
    [family] = site.families()
    assert family.generation == count
    assert site.events().count("token.issued") == 1
    assert "token.reused" not in site.events()
    site.me(tokens["access_token"])


def test_the_previous_access_token_works_within_the_grace_and_not_after(site, keys, frozen):
    first = site.login(keys)
    frozen.advance(60)
    second = site.refresh(keys, first["refresh_token"])
    frozen.advance(9.999)
    site.me(first["access_token"])
    frozen.advance(0.001)
    site.me(first["access_token"], status=401)
    site.me(second["access_token"])


def test_an_access_token_two_generations_old_is_dead_even_within_the_grace(site, keys, frozen):
    first = site.login(keys)
    second = site.refresh(keys, first["refresh_token"])
    third = site.refresh(keys, second["refresh_token"])
    site.me(first["access_token"], status=401)
    site.me(second["access_token"])
    site.me(third["access_token"])


def test_without_grace_the_previous_access_token_is_dead_at_once(strict):
    keys = strict.client()
    first = strict.login(keys)
    strict.refresh(keys, first["refresh_token"])
    strict.me(first["access_token"], status=401)


@pytest.mark.control("T12")
def test_within_the_grace_the_same_successor_comes_again_and_nothing_is_written(site, keys, frozen):
    first = site.login(keys)
    second = site.refresh(keys, first["refresh_token"])
    before = vars(site.families()[0]).copy(), site.events()
    frozen.advance(9.5)
    again = site.refresh(keys, first["refresh_token"])
    assert pair(again) == pair(second)
    after = vars(site.families()[0]).copy(), site.events()
    for state in (before[0], after[0]):
        state.pop("_sa_instance_state")
    assert before == after


@pytest.mark.control("T12")
def test_a_repeated_pair_has_the_remaining_lifetime(site_with, frozen):
    site = site_with(expires_in="60s", refresh_grace="30s")
    site.user()
    keys = site.client()
    first = site.login(keys)
    assert site.refresh(keys, first["refresh_token"])["expires_in"] == 60
    frozen.advance(20.5)
    assert site.refresh(keys, first["refresh_token"])["expires_in"] == 39


def test_in_the_grace_no_lifetime_is_negative(site_with, frozen):
    site = site_with(expires_in="5s", refresh_grace="30s")
    site.user()
    keys = site.client()
    first = site.login(keys)
    site.refresh(keys, first["refresh_token"])
    frozen.advance(20)
    assert site.refresh(keys, first["refresh_token"])["expires_in"] == 0


@pytest.mark.control("T12")
def test_the_grace_ends_to_the_moment_and_then_a_replay_is_reuse(site, keys, frozen):
    first = site.login(keys)
    second = site.refresh(keys, first["refresh_token"])
    frozen.advance(10)
    assert site.refresh(keys, first["refresh_token"], status=400)["error"] == "invalid_grant"
    site.me(second["access_token"], status=401)


@pytest.mark.control("T12")
def test_grace_serves_only_the_generation_directly_before(site, keys):
    first = site.login(keys)
    second = site.refresh(keys, first["refresh_token"])
    third = site.refresh(keys, second["refresh_token"])
    site.refresh(keys, first["refresh_token"], status=400)
    site.me(third["access_token"], status=401)


@pytest.mark.control("T12")
def test_a_revoked_family_never_comes_back_through_the_grace(site, keys):
    first = site.login(keys)
    second = site.refresh(keys, first["refresh_token"])
    site.logout(second["access_token"])
    assert site.refresh(keys, first["refresh_token"], status=400)["error"] == "invalid_grant"
    site.refresh(keys, second["refresh_token"], status=400)
    for tokens in (first, second):
        site.me(tokens["access_token"], status=401)


@pytest.mark.control("T11")
def test_reuse_outside_the_grace_kills_the_whole_family(strict):
    keys = strict.client()
    first = strict.login(keys)
    second = strict.refresh(keys, first["refresh_token"])
    third = strict.refresh(keys, second["refresh_token"])
    strict.me(third["access_token"])
    assert strict.refresh(keys, first["refresh_token"], status=400)["error"] == "invalid_grant"
    for tokens in (first, second, third):
        strict.me(tokens["access_token"], status=401)
    for tokens in (third, second, first):
        strict.refresh(keys, tokens["refresh_token"], status=400)


@pytest.mark.control("T11")
def test_the_revocation_is_still_there_after_the_error_answer(strict):
    keys = strict.client()
    first = strict.login(keys)
    strict.refresh(keys, first["refresh_token"])
    strict.refresh(keys, first["refresh_token"], status=400)
    [family] = strict.families()
    assert family.revoked_at is not None
    assert family.revoked_why == "reuse"
    assert strict.events().count("token.reused") == 1


@pytest.mark.control("T11")
def test_a_second_replay_changes_nothing_more(strict):
    keys = strict.client()
    first = strict.login(keys)
    strict.refresh(keys, first["refresh_token"])
    strict.refresh(keys, first["refresh_token"], status=400)
    revoked_at = strict.families()[0].revoked_at
    strict.refresh(keys, first["refresh_token"], status=400)
    assert strict.families()[0].revoked_at == revoked_at
    assert strict.events().count("token.reused") == 1


def test_reuse_in_one_family_leaves_the_users_other_families_alone(strict):
    keys = strict.client()
    first, other = strict.login(keys), strict.login(keys)
    strict.refresh(keys, first["refresh_token"])
    strict.refresh(keys, first["refresh_token"], status=400)
    strict.me(other["access_token"])
    strict.refresh(keys, other["refresh_token"])


@pytest.mark.control("T14")
@pytest.mark.parametrize("replayed", range(10))
def test_of_ten_refreshes_in_one_second_each_older_token_is_used(strict, frozen, replayed):
    keys = strict.client("personal")
    tokens = [strict.token(keys, grant_type="client_credentials").json]
    for _ in range(10):
        tokens.append(strict.refresh(keys, tokens[-1]["refresh_token"]))
    strict.refresh(keys, tokens[replayed]["refresh_token"], status=400)
    assert strict.families()[0].revoked_why == "reuse"
    strict.refresh(keys, tokens[-1]["refresh_token"], status=400)


@pytest.mark.control("T10")
def test_another_clients_attempt_is_refused_and_leaves_the_token_as_it_was(site, keys):
    other_client = site.client(name="other")
    tokens = site.login(keys)
    assert (
        site.refresh(other_client, tokens["refresh_token"], status=400)["error"] == "invalid_grant"
    )
    assert site.families()[0].generation == 0
    site.me(tokens["access_token"])
    site.refresh(keys, tokens["refresh_token"])


@pytest.mark.control("T10")
def test_another_client_cannot_revoke_a_family_by_replaying_its_used_token(strict):
    keys, other_client = strict.client(), strict.client(name="other")
    first = strict.login(keys)
    second = strict.refresh(keys, first["refresh_token"])
    strict.refresh(other_client, first["refresh_token"], status=400)
    strict.me(second["access_token"])
    assert "token.reused" not in strict.events()
    strict.refresh(keys, second["refresh_token"])


@pytest.mark.control("T10")
def test_a_refreshed_token_still_acts_for_the_same_user(site, keys):
    bo = site.user("bo@example.com")
    tokens = site.login(keys, "bo@example.com")
    fresh = site.refresh(keys, tokens["refresh_token"], username="ann@example.com")
    assert site.me(fresh["access_token"]).json["id"] == str(bo.id)


def test_a_generation_ahead_of_a_restored_backup_is_refused_and_writes_nothing(site, keys):
    first = site.login(keys)
    second = site.refresh(keys, first["refresh_token"])
    third = site.refresh(keys, second["refresh_token"])
    with site.db() as db:  # the backup was taken before the refreshes
        db.execute(update(Family).values(generation=0))
    for ahead in (third, second):
        site.refresh(keys, ahead["refresh_token"], status=400)
        site.me(ahead["access_token"], status=401)
    [family] = site.families()
    assert (family.generation, family.revoked_at) == (0, None)
    assert "token.reused" not in site.events()


@pytest.mark.parametrize("kind", [ACCESS, "xx_", ""])
def test_only_a_refresh_token_refreshes(site, keys, kind):
    tokens = site.login(keys)
    text = tokens["access_token"] if kind == ACCESS else kind + tokens["refresh_token"][3:]
    assert site.refresh(keys, text, status=400)["error"] == "invalid_grant"
    assert site.families()[0].generation == 0


def test_a_refresh_token_opens_no_endpoint(site, keys):
    tokens = site.login(keys)
    site.me(tokens["refresh_token"], status=401)
    site.me(ACCESS + tokens["refresh_token"].removeprefix(REFRESH), status=401)


def test_a_token_of_a_family_that_is_gone_is_refused(site, keys):
    tokens = site.login(keys)
    with site.db() as db:
        db.delete(db.merge(site.families()[0]))
    site.me(tokens["access_token"], status=401)
    site.refresh(keys, tokens["refresh_token"], status=400)


def test_revoking_returns_whether_the_family_was_active_until_now(site, keys):
    site.login(keys)
    [family] = site.families()
    with site.db() as db:
        assert families.revoke(acting(db), family.id, "test") is True
        assert families.revoke(acting(db), family.id, "again") is False
    assert site.families()[0].revoked_why == "test"
    assert site.families()[0].address == RequestInfo("192.0.2.1").address
