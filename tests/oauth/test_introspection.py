"""POST /v1/oauth/introspect (RFC 7662): it tells what the guard would do, to those who may know."""

import pytest

from authsite.users import service as users
from authsite.users.models import User
from tests.oauth.test_tokens_made_up import rubbish
from tests.oauth.test_tokens_revocation import TRIGGERS
from tests.support.acting import acting
from tests.support.site import bearer
from tests.support.statements import counted

INACTIVE = {"active": False}


@pytest.fixture
def ann(site):
    return site.user()


@pytest.fixture
def keys(site, ann):
    return site.client(scope="notes:read notes:write", default_scope="notes:read")


@pytest.fixture
def resource(site):
    return site.client("resource-server")


@pytest.fixture
def tokens(site, keys):
    return site.login(keys)


def test_an_access_token_of_a_user(site, frozen, ann, keys):
    tokens = site.login(keys)
    assert site.introspect(keys, tokens["access_token"]) == {
        "active": True,
        "scope": "notes:read",
        "client_id": keys.client_id,
        "token_type": "Bearer",
        "exp": int(frozen.at.timestamp()) + tokens["expires_in"],
        "iat": int(frozen.at.timestamp()),
        "sub": str(ann.id),
        "email": "ann@example.com",
        "email_verified": False,
        "groups": [],
        "owner": "user",
        "acr": "aal1",
        "amr": ["pwd"],
        "auth_time": int(frozen.at.timestamp()),
    }


def test_an_access_token_of_a_client(site, frozen):
    keys = site.client("personal")
    tokens = site.token(keys, grant_type="client_credentials").json
    assert site.introspect(keys, tokens["access_token"]) == {
        "active": True,
        "scope": "",
        "client_id": keys.client_id,
        "token_type": "Bearer",
        "exp": int(frozen.at.timestamp()) + tokens["expires_in"],
        "iat": int(frozen.at.timestamp()),
        "sub": keys.client_id,
        "owner": "client",
    }


def test_a_refresh_token_keeps_the_whole_grant_and_is_no_bearer_token(site_with, frozen):
    site = site_with(expires_in="60m", refresh_expires_in="30d")
    site.user()
    keys = site.client(scope="a b")
    first = site.login(keys, scope="a b")
    second = site.refresh(keys, first["refresh_token"], scope="a")
    answer = site.introspect(keys, second["refresh_token"])
    assert (answer["active"], answer["scope"], answer["token_type"]) == (True, "a b", "N_A")
    assert answer["exp"] - answer["iat"] == 30 * 86400
    assert site.introspect(keys, second["access_token"])["scope"] == "a"


@pytest.mark.parametrize("hint", ["access_token", "refresh_token", "pat", "", "x" * 1024])
@pytest.mark.parametrize("kind", ["access_token", "refresh_token"])
def test_the_hint_changes_nothing(site, keys, tokens, kind, hint):
    plain = site.introspect(keys, tokens[kind])
    assert plain["active"] is True
    assert site.introspect(keys, tokens[kind], token_type_hint=hint) == plain


@pytest.mark.control("T24")
def test_a_resource_server_sees_the_access_tokens_of_all_clients(site, keys, tokens, resource):
    machine = site.client("personal")
    of_machine = site.token(machine, grant_type="client_credentials").json
    for owner, token in ((keys, tokens["access_token"]), (machine, of_machine["access_token"])):
        assert site.introspect(resource, token) == site.introspect(owner, token)
        assert site.introspect(resource, token)["active"] is True


@pytest.mark.control("T24")
def test_a_resource_server_never_takes_a_refresh_token_for_an_active_one(site, tokens, resource):
    assert site.introspect(resource, tokens["refresh_token"]) == INACTIVE


@pytest.mark.control("T24")
@pytest.mark.parametrize("type", ["password", "personal"])
@pytest.mark.parametrize("kind", ["access_token", "refresh_token"])
def test_another_client_learns_nothing(site, tokens, type, kind):
    assert site.introspect(site.client(type), tokens[kind]) == INACTIVE


@pytest.mark.control("T19")
@pytest.mark.parametrize("trigger", TRIGGERS)
def test_what_ends_tokens_ends_them_here_too(site, ann, keys, tokens, resource, trigger):
    TRIGGERS[trigger](site, ann, keys)
    assert site.introspect(resource, tokens["access_token"]) == INACTIVE
    if not trigger.startswith("client"):
        assert site.introspect(keys, tokens["access_token"]) == INACTIVE
        assert site.introspect(keys, tokens["refresh_token"]) == INACTIVE


def test_after_logout_both_tokens_are_inactive(site, keys, tokens):
    site.logout(tokens["access_token"])
    assert site.introspect(keys, tokens["access_token"]) == INACTIVE
    assert site.introspect(keys, tokens["refresh_token"]) == INACTIVE


def test_tokens_expire_at_their_second(site_with, frozen):
    site = site_with(expires_in="60s", refresh_expires_in="120s")
    site.user()
    keys = site.client()
    tokens = site.login(keys)
    frozen.advance(59)
    assert site.introspect(keys, tokens["access_token"])["active"] is True
    frozen.advance(1)
    assert site.introspect(keys, tokens["access_token"]) == INACTIVE
    frozen.advance(59)
    assert site.introspect(keys, tokens["refresh_token"])["active"] is True
    frozen.advance(1)
    assert site.introspect(keys, tokens["refresh_token"]) == INACTIVE


def test_in_the_grace_the_tokens_before_a_refresh_are_active_with_their_own_times(site, frozen):
    site.user()
    keys = site.client()
    first = site.login(keys)
    before = {
        kind: site.introspect(keys, first[kind]) for kind in ("access_token", "refresh_token")
    }
    frozen.advance(100)
    site.refresh(keys, first["refresh_token"])
    frozen.advance(9)
    for kind, answer in before.items():
        assert site.introspect(keys, first[kind]) == answer
    frozen.advance(1)
    for kind in before:
        assert site.introspect(keys, first[kind]) == INACTIVE
    assert [family.revoked_at for family in site.families()] == [None]  # asking is not using


def test_a_refresh_that_changed_the_scope_ends_the_access_token_before_it(site, frozen, keys):
    first = site.login(keys, scope="notes:read notes:write")
    site.refresh(keys, first["refresh_token"], scope="notes:read")
    site.me(first["access_token"], status=401)
    assert site.introspect(keys, first["access_token"]) == INACTIVE
    assert site.introspect(keys, first["refresh_token"])["active"] is True  # gets the same pair


@pytest.mark.control("T20")
@pytest.mark.parametrize("variant", ["A", "B"])
@pytest.mark.parametrize("required", ["true", "false"])
def test_an_unconfirmed_users_token_is_active_where_a_plain_guarded_route_takes_it(
    site_with, variant, required
):
    site = site_with(variant=variant, require_email_confirmation=required)
    ann = site.user(confirmed=True)
    keys, resource = site.client(), site.client("resource-server")
    tokens = site.login(keys)
    with site.db() as db:
        db.get(User, ann.id).email_verified_at = None
    guard = site.http.get("/v1/user", headers=bearer(tokens["access_token"]), status="*")
    refused = (variant, required) == ("B", "true")
    assert guard.status_int == (403 if refused else 200)
    for caller, kind in (
        (resource, "access_token"),
        (keys, "access_token"),
        (keys, "refresh_token"),
    ):
        assert site.introspect(caller, tokens[kind])["active"] is not refused
    with site.db() as db:
        users.confirm(acting(db), db.get(User, ann.id))
    assert site.introspect(resource, tokens["access_token"])["active"] is True


@pytest.mark.control("T04")
@pytest.mark.control("T24")
def test_what_is_no_token_of_ours_is_inactive_without_a_query_for_it(site, keys, tokens, resource):
    for text in rubbish(tokens):
        if not 0 < len(text) <= 512 or text == tokens["refresh_token"]:
            continue
        with counted(site.database) as statements:
            assert site.introspect(resource, text) == INACTIVE
        assert len(statements) == 1  # the client's


def test_an_introspection_is_one_query_for_an_access_token_else_two(site, keys, tokens):
    """A forged token takes the query of a good one, so the time tells nothing about it."""
    texts = (tokens["access_token"], "at_forged", tokens["refresh_token"])
    for text, queries in zip(texts, (1, 1, 2), strict=True):
        with counted(site.database) as statements:
            site.introspect(keys, text)
        assert len(statements) == queries
        assert all(statement.startswith("SELECT") for statement in statements)


def test_a_token_that_a_resource_asks_about_counts_as_used(site, frozen, tokens, resource):
    frozen.advance(3600)
    site.introspect(resource, tokens["access_token"])
    site.app.registry["authsite"].last_used.write()
    [family] = site.families()
    assert family.used_at == frozen.at.replace(minute=0, second=0)


def test_a_sign_in_without_the_second_factor_that_is_required_now_is_inactive(
    site, sites, keys, resource, tokens
):
    """As at the guard and at a refresh. A personal token is of no sign-in."""
    later = sites(second_factor="required")
    headers = bearer(tokens["access_token"])
    assert later.http.get("/v1/guard/api", headers=headers, status="*").status_int == 401
    for caller, token in (
        (resource, "access_token"),
        (keys, "access_token"),
        (keys, "refresh_token"),
    ):
        assert later.introspect(caller, tokens[token]) == INACTIVE
    assert site.introspect(keys, tokens["access_token"])["active"] is True
    of_client = site.token(site.client("personal"), grant_type="client_credentials").json
    assert later.introspect(resource, of_client["access_token"])["active"] is True
