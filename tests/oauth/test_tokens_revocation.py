"""Logout, epochs and cascades: what ends is dead at once, for every process."""

import uuid

import pytest

from authsite.oauth.clients import service as clients
from authsite.oauth.models import Client
from authsite.sign_in.gate import ACCOUNT_CONDITIONS, AccountCondition
from authsite.users import service as users
from authsite.users.models import User
from tests.support.acting import acting
from tests.support.site import PASSWORD, Site, bearer

NEW_PASSWORD = "purple wolf 77 tea"


@pytest.fixture
def other(site):
    """A second process, as far as one process can be two: nothing shared but the database."""
    made = Site(site.url)
    yield made
    made.database.dispose()


@pytest.fixture
def ann(site):
    return site.user()


@pytest.fixture
def keys(site, ann):
    return site.client()


def change_password(site, user, password=NEW_PASSWORD):
    stored = site.app.registry["authsite"].passwords.hash(password)
    with site.db() as db:
        users.set_password(acting(db), user.id, stored)


def disable_user(site, user):
    with site.db() as db:
        users.disable(acting(db), db.get(User, user.id))


def enable_user(site, user):
    with site.db() as db:
        users.enable(acting(db), db.get(User, user.id))


def sign_out(site, user):
    with site.db() as db:
        users.sign_out(acting(db), db.get(User, user.id))


def disable_client(site, keys):
    with site.db() as db:
        clients.disable(acting(db), uuid.UUID(keys.client_id))


def delete_user(site, user):
    with site.db() as db:
        db.delete(db.get(User, user.id))


def delete_client(site, keys):
    with site.db() as db:
        db.delete(db.get(Client, uuid.UUID(keys.client_id)))


TRIGGERS = {
    "password change": lambda site, user, keys: change_password(site, user),
    "user disabled": lambda site, user, keys: disable_user(site, user),
    "sign-out everywhere": lambda site, user, keys: sign_out(site, user),
    "user deleted": lambda site, user, keys: delete_user(site, user),
    "client disabled": lambda site, user, keys: disable_client(site, keys),
    "client deleted": lambda site, user, keys: delete_client(site, keys),
}


def dead(site, keys, tokens):
    site.me(tokens["access_token"], status=401)
    form = {"grant_type": "refresh_token", "refresh_token": tokens["refresh_token"]}
    answer = site.token(keys, status="*", **form)
    assert answer.status_int in (400, 401)
    assert answer.json["error"] in ("invalid_grant", "invalid_client")


@pytest.mark.control("T18")
@pytest.mark.parametrize("path", ["/v1/logout", "/v1/logout/"])
def test_logout_ends_the_access_token_and_its_refresh_sibling_everywhere_at_once(
    site, other, keys, path
):
    tokens = site.login(keys)
    other.me(tokens["access_token"])
    answer = site.http.delete(path, headers=bearer(tokens["access_token"]), status=200)
    assert answer.json == {"message": "Token revoked successfully."}
    assert answer.headers["Cache-Control"] == "no-store"
    for each in (site, other):
        dead(each, keys, tokens)


@pytest.mark.control("T18")
def test_a_second_logout_is_401_and_writes_nothing(site, keys):
    tokens = site.login(keys)
    site.logout(tokens["access_token"])
    events = site.events()
    answer = site.logout(tokens["access_token"], status=401)
    assert 'error="invalid_token"' in answer.headers["WWW-Authenticate"]
    assert site.events() == events


@pytest.mark.control("T18")
def test_logout_with_the_previous_access_token_in_the_grace_ends_the_successor_too(site, keys):
    first = site.login(keys)
    second = site.refresh(keys, first["refresh_token"])
    site.logout(first["access_token"])
    dead(site, keys, second)


def test_logout_ends_one_login_and_no_other(site, keys):
    first, second = site.login(keys), site.login(keys)
    site.logout(first["access_token"])
    site.me(second["access_token"])
    site.refresh(keys, second["refresh_token"])


def test_a_logout_is_on_record_with_its_family(site, ann, keys):
    site.logout(site.login(keys)["access_token"])
    [family] = site.families()
    assert family.revoked_why == "logout"
    assert site.events()[-1] == "token.revoked"


def test_a_client_logs_itself_out(site):
    keys = site.client("personal")
    tokens = site.token(keys, grant_type="client_credentials").json
    site.logout(tokens["access_token"])
    dead(site, keys, tokens)


@pytest.mark.both_databases
@pytest.mark.control("T19")
@pytest.mark.parametrize("trigger", TRIGGERS)
def test_a_trigger_ends_every_token_of_the_user_at_once_on_every_process(
    site, other, ann, keys, trigger
):
    used = site.login(keys)
    active = [site.refresh(keys, used["refresh_token"]), site.login(keys), site.login(keys)]
    for tokens in active:
        other.me(tokens["access_token"])
    TRIGGERS[trigger](site, ann, keys)
    for tokens in (used, *active):
        dead(other, keys, tokens)
        dead(site, keys, tokens)


@pytest.mark.control("T19")
@pytest.mark.parametrize("trigger", TRIGGERS)
def test_a_trigger_leaves_other_users_or_other_clients_alone(site, ann, keys, trigger):
    bo, other_keys = site.user("bo@example.com"), site.client(name="other")
    untouched = site.login(other_keys, "bo@example.com")
    TRIGGERS[trigger](site, ann, keys)
    assert site.me(untouched["access_token"]).json["id"] == str(bo.id)
    site.refresh(other_keys, untouched["refresh_token"])


@pytest.mark.control("T19")
def test_disabling_a_client_ends_the_tokens_of_all_its_users_and_its_own(site, keys):
    site.user("bo@example.com")
    machine = site.client("personal")
    active = [site.login(keys), site.login(keys, "bo@example.com")]
    own = site.token(machine, grant_type="client_credentials").json
    disable_client(site, keys)
    disable_client(site, machine)
    for tokens in active:
        dead(site, keys, tokens)
    dead(site, machine, own)


@pytest.mark.control("T19")
def test_nothing_that_was_ended_comes_back_when_the_user_is_enabled_again(site, ann, keys):
    tokens = site.login(keys)
    disable_user(site, ann)
    enable_user(site, ann)
    dead(site, keys, tokens)
    site.me(site.login(keys)["access_token"])


@pytest.mark.control("T19")
def test_after_a_password_change_only_the_new_password_gets_tokens(site, ann, keys):
    change_password(site, ann)
    assert site.login(keys, status=400)["error"] == "invalid_grant"
    site.me(site.login(keys, password=NEW_PASSWORD)["access_token"])


def test_a_trigger_is_one_update_and_not_one_for_each_family(site, ann, keys):
    for _ in range(5):
        site.login(keys)
    before = [vars(family) for family in site.families()]
    sign_out(site, ann)
    after = [vars(family) for family in site.families()]
    for row in (*before, *after):
        row.pop("_sa_instance_state")
    assert before == after


@pytest.mark.control("T19")
def test_the_successor_in_the_grace_does_not_outlive_the_epoch(site, ann, keys):
    first = site.login(keys)
    site.refresh(keys, first["refresh_token"])
    sign_out(site, ann)
    assert site.refresh(keys, first["refresh_token"], status=400)["error"] == "invalid_grant"
    [family] = site.families()
    assert family.revoked_at is None  # the epoch ended it; this is not a reuse


@pytest.mark.both_databases
@pytest.mark.control("T19")
@pytest.mark.parametrize("trigger", ["password change", "user disabled", "sign-out everywhere",
                                     "user deleted", "client disabled"])  # fmt: skip
def test_a_login_under_way_while_the_epoch_is_raised_gets_no_token(site, ann, keys, trigger):
    steps = ACCOUNT_CONDITIONS.of(site.app.registry["authsite"])

    def meanwhile(_cfg, _account):  # after the password was checked, before anything is written
        TRIGGERS[trigger](site, ann, keys)

    steps["test"] = AccountCondition(meanwhile)
    try:
        answer = site.login(keys, status=400)
    finally:
        steps.pop("test")
    assert answer["error"] == "invalid_grant"
    assert site.families() == []


@pytest.mark.control("T19")
def test_an_old_password_token_never_outlives_a_password_change(site, ann, keys):
    old = [site.login(keys, password=PASSWORD) for _ in range(3)]
    change_password(site, ann)
    change_password(site, ann, PASSWORD)  # back to the old one: still another epoch
    for tokens in old:
        dead(site, keys, tokens)
