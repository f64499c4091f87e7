"""Every path asks again whether the user and the client are enabled."""

import uuid

import pytest

from authsite.oauth.clients import service as clients
from authsite.oauth.errors import InvalidGrant
from authsite.oauth.models import Client
from authsite.platform.runtime import clock
from authsite.sign_in.gate import ACCOUNT_CONDITIONS, AccountCondition
from authsite.users import service as users
from authsite.users.models import User
from tests.support.acting import acting
from tests.support.site import PASSWORD, WEB, bearer

LOGIN_FORM = {"username": "ann@example.com", "password": PASSWORD}


@pytest.fixture
def site(site_with):
    made = site_with(**WEB)
    made.user()
    return made


@pytest.fixture
def keys(site):
    return site.first_party("web")


def paths(site, keys, tokens):
    """Each way in, as (name, what it answers)."""
    refresh = {"refresh_token": tokens["refresh_token"]}
    any_status = {"status": "*"}
    yield "password grant", site.token(keys, "*", grant_type="password", **LOGIN_FORM)
    yield "proxy", site.http.post("/v1/clients/web/login", LOGIN_FORM, **any_status)
    yield "proxy users", site.http.post("/v1/clients/web/users/login", LOGIN_FORM, **any_status)
    yield "refresh", site.token(keys, "*", grant_type="refresh_token", **refresh)
    yield "proxy refresh", site.http.post("/v1/clients/web/refresh", refresh, **any_status)
    for path in ("/v1/user", "/v1/profile"):
        yield path, site.http.get(path, headers=bearer(tokens["access_token"]), **any_status)
    headers = bearer(tokens["access_token"])
    yield "logout", site.http.delete("/v1/logout", headers=headers, **any_status)


def only_disabled(site, model):
    """Disabled without a new epoch: the flag alone must be enough, on every path."""
    with site.db() as db:
        for row in db.query(model):
            row.disabled_at = clock.now()


def statuses(site, keys, tokens):
    return {name: answer.status_int for name, answer in paths(site, keys, tokens)}


GUARDED = ("/v1/user", "/v1/profile", "logout")


@pytest.mark.control("T20")
def test_an_enabled_user_of_an_enabled_client_comes_in_everywhere(site, keys):
    assert set(statuses(site, keys, site.login(keys)).values()) == {200}


@pytest.mark.control("T20")
def test_a_disabled_user_is_refused_on_every_path(site, keys):
    tokens = site.login(keys)
    only_disabled(site, User)
    for name, answer in paths(site, keys, tokens):
        assert answer.status_int == (401 if name in GUARDED else 400), name
        if name not in GUARDED:
            assert answer.json["error"] == "invalid_grant", name


@pytest.mark.control("T20")
def test_a_disabled_users_right_password_counts_as_a_failed_login(site, keys):
    calls = []
    only_disabled(site, User)
    steps = ACCOUNT_CONDITIONS.of(site.app.registry["authsite"])
    steps["test"] = AccountCondition(lambda *_: calls.append("a step"))
    try:
        site.login(keys, status=400)
    finally:
        steps.pop("test")
    assert site.events()[-1] == "login.failed"
    assert calls == []  # nothing beyond the password check has heard of it


@pytest.mark.control("T20")
def test_a_disabled_client_is_refused_on_every_path(site, keys):
    tokens = site.login(keys)
    only_disabled(site, Client)
    for name, answer in paths(site, keys, tokens):
        assert answer.status_int == 401, name
        if name not in GUARDED:
            assert answer.json["error"] == "invalid_client", name


@pytest.mark.control("T20")
def test_a_disabled_client_cannot_use_its_own_tokens(site):
    keys = site.client("personal")
    tokens = site.token(keys, grant_type="client_credentials").json
    site.me(tokens["access_token"], status=403)
    with site.db() as db:
        clients.disable(acting(db), uuid.UUID(keys.client_id))
    site.me(tokens["access_token"], status=401)
    site.logout(tokens["access_token"], status=401)


@pytest.mark.control("T20")
def test_an_account_condition_runs_at_every_login_and_every_refresh(site, keys):
    tokens = site.login(keys)
    calls = []

    def step(ctx, account):
        calls.append((ctx.settings, account.email))
        raise InvalidGrant

    steps = ACCOUNT_CONDITIONS.of(site.app.registry["authsite"])
    steps["test"] = AccountCondition(step)
    try:
        found = statuses(site, keys, tokens)
    finally:
        steps.pop("test")
    refused = {name for name, status in found.items() if status == 400}
    assert refused == {"password grant", "proxy", "proxy users", "refresh", "proxy refresh"}
    assert calls == [(site.cfg, "ann@example.com")] * 5


@pytest.mark.control("T20")
def test_a_denied_refresh_does_not_use_the_refresh_token(site, keys):
    tokens = site.login(keys)
    steps = ACCOUNT_CONDITIONS.of(site.app.registry["authsite"])

    def step(_ctx, _account):
        raise InvalidGrant

    steps["test"] = AccountCondition(step)
    try:
        site.refresh(keys, tokens["refresh_token"], status=400)
        assert site.introspect(keys, tokens["refresh_token"]) == {"active": False}
    finally:
        steps.pop("test")
    assert site.families()[0].generation == 0
    assert site.introspect(keys, tokens["refresh_token"])["active"]
    site.refresh(keys, tokens["refresh_token"])


@pytest.mark.control("T20")
def test_an_account_condition_does_not_run_before_the_password_was_right(site, keys):
    calls = []
    steps = ACCOUNT_CONDITIONS.of(site.app.registry["authsite"])
    steps["test"] = AccountCondition(lambda _ctx, account: calls.append(account))
    try:
        site.login(keys, password="wrong horse battery", status=400)
        site.login(keys, "bo@example.com", status=400)
    finally:
        steps.pop("test")
    assert calls == []


@pytest.mark.control("T20")
def test_a_user_who_was_enabled_again_can_log_in(site, keys):
    with site.db() as db:
        user = db.query(User).one()
        users.disable(acting(db), user)
    site.login(keys, status=400)
    with site.db() as db:
        users.enable(acting(db), db.query(User).one())
    site.me(site.login(keys)["access_token"])
