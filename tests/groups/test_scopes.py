"""Scopes that users have by a group alone: at every grant, at refresh, and when they are lost."""

import pytest
from sqlalchemy import select

from authsite.oauth.models import Family, PersonalToken
from authsite.oauth.tokens import scope_loss
from authsite.platform.audit.models import AuditEvent
from tests.groups.conftest import SETTINGS
from tests.support import personal
from tests.support.factors import context
from tests.support.pages import sign_in, submit
from tests.support.site import PASSWORD

ALL = "notes:read payments:write"


@pytest.fixture
def keys(site):
    return site.client(scope=ALL)


def login(site, keys, scope=ALL, status=200):
    return site.login(keys, scope=scope, status=status)


def scope_of(site, keys, token):
    return site.introspect(keys, token)["scope"]


def test_a_member_gets_the_scope_that_the_group_binds(site, keys, payers):
    tokens = login(site, keys)
    assert "scope" not in tokens  # all that was asked for
    assert scope_of(site, keys, tokens["access_token"]) == ALL


def test_for_others_it_is_left_out_and_the_answer_says_so(site, keys, payers):
    tokens = site.login(keys, "bo@example.com", scope=ALL)
    assert tokens["scope"] == "notes:read"
    assert scope_of(site, keys, tokens["access_token"]) == "notes:read"
    assert scope_of(site, keys, tokens["refresh_token"]) == "notes:read"


@pytest.mark.parametrize("asked", ["payments:write", "payments:read payments:write"])
def test_where_nothing_is_left_the_scope_is_invalid(site, payers, asked):
    keys = site.client(scope="payments:read payments:write")
    form = {"username": "bo@example.com", "scope": asked, "status": 400}
    assert site.login(keys, **form)["error"] == "invalid_scope"
    assert site.families() == []


def test_a_scope_for_groups_that_no_group_binds_is_nobodys(site, keys, commands):
    assert login(site, keys)["scope"] == "notes:read"
    commands.run("group", "create", "payers", "--title", "Payers")
    commands.run("group", "add", "payers", "ann@example.com")
    assert login(site, keys)["scope"] == "notes:read"


def test_a_personal_client_has_it_by_its_own_scope(site, commands):
    keys = site.client("personal", scope=ALL)
    asked = {"grant_type": "client_credentials", "scope": "payments:write"}
    assert "scope" not in site.token(keys, **asked).json
    refreshed = site.refresh(keys, site.token(keys, **asked).json["refresh_token"])
    assert scope_of(site, keys, refreshed["access_token"]) == "payments:write"


def test_a_gained_scope_counts_from_the_next_refresh(site, keys, payers):
    tokens = site.login(keys, "bo@example.com", scope=ALL)
    payers.run("group", "add", "payers", "bo@example.com")
    assert scope_of(site, keys, tokens["access_token"]) == "notes:read"
    refreshed = site.refresh(keys, tokens["refresh_token"])
    assert refreshed["scope"] == ALL
    assert scope_of(site, keys, refreshed["access_token"]) == ALL


def lose_membership(payers):
    payers.run("group", "remove", "payers", "ann@example.com")


def lose_binding(payers):
    payers.run("group", "update", "payers", "--scope", "")


def lose_group(payers):
    payers.run("group", "delete", "payers")


LOSSES = [lose_membership, lose_binding, lose_group]


@pytest.mark.both_databases
@pytest.mark.parametrize("lose", LOSSES)
def test_who_loses_a_scope_loses_the_tokens_that_carry_it(site, keys, payers, lose):
    carrying = login(site, keys)
    without = login(site, keys, "notes:read")
    token = personal.created(site, carrying["access_token"], scope="payments:write")
    lose(payers)
    site.me(carrying["access_token"], 401)
    site.me(token, 401)
    assert site.refresh(keys, carrying["refresh_token"], 400)["error"] == "invalid_grant"
    site.me(without["access_token"])
    assert login(site, keys)["scope"] == "notes:read"
    assert login(site, keys, "payments:write", 400)["error"] == "invalid_scope"
    with site.db() as db:
        [one, other] = db.scalars(select(AuditEvent).where(AuditEvent.event == "token.revoked"))
    assert one.details["why"] == other.details["why"] == "no group gives its scope"


@pytest.mark.parametrize("group", ["payers", "others"])
def test_a_scope_of_a_deleted_group_is_nobodys_on_every_process(sites, site, keys, payers, group):
    """The definition of the scope is in the settings: no process takes it for a common one."""
    one, other = (sites(**SETTINGS, guard_cache=each) for each in ("0s", "60s"))
    payers.run("group", "create", "others", "--title", "Others")
    tokens = [login(each, keys) for each in (one, other)]
    for name in (group, *({"payers", "others"} - {group})):
        payers.run("group", "delete", name)
    for process in (one, other):
        for each in tokens:
            process.me(each["access_token"], 401)
            assert process.introspect(keys, each["access_token"]) == {"active": False}
            assert process.refresh(keys, each["refresh_token"], 400)["error"] == "invalid_grant"
        assert login(process, keys)["scope"] == "notes:read"
        assert login(process, keys, "payments:write", 400)["error"] == "invalid_scope"


@pytest.mark.parametrize("lose", LOSSES)
def test_what_was_narrowed_away_does_not_come_back_after_the_loss(site, keys, payers, lose):
    tokens = login(site, keys)
    narrowed = site.refresh(keys, tokens["refresh_token"], scope="notes:read")
    lose(payers)
    refreshed = site.refresh(keys, narrowed["refresh_token"])
    assert refreshed["scope"] == "notes:read"
    asked = {"scope": "payments:write", "status": 400}
    assert site.refresh(keys, refreshed["refresh_token"], **asked)["error"] == "invalid_scope"


@pytest.mark.parametrize("lose", LOSSES)
def test_tokens_stay_where_another_group_gives_the_scope(site, keys, payers, lose):
    payers.run("group", "create", "more", "--title", "More", "--scope", "payments:write")
    payers.run("group", "add", "more", "ann@example.com")
    tokens = login(site, keys)
    lose(payers)
    site.me(tokens["access_token"])
    payers.run("group", "delete", "more")
    site.me(tokens["access_token"], 401)


def test_the_tokens_that_a_change_may_end_are_counted(site, keys, payers):
    """Those of members alone, which the page that confirms the change names."""
    payers.run("group", "create", "more", "--title", "More", "--scope", "payments:read")
    for email in ("ann@example.com", "bo@example.com"):
        payers.run("group", "add", "more", email)
    both = site.client(scope=f"{ALL} payments:read")
    carrying = login(site, both, f"{ALL} payments:read")
    personal.created(site, carrying["access_token"], scope="payments:write")
    login(site, keys, "notes:read")
    site.login(both, "bo@example.com", scope="payments:read")
    revoked = login(site, keys)
    site.revoke(keys, revoked["refresh_token"])

    def counted(group, *scopes, limit=1000):
        with site.db() as db:
            return scope_loss.count_of_members(context(site, db), group, scopes, limit)

    assert counted("payers", "payments:write") == 2
    assert counted("more", "payments:read") == 2
    assert counted("payers", "payments:read") == 1
    assert counted("more", "payments:read", "payments:write") == 3
    assert counted("more", "payments:read", limit=1) == 1
    assert counted("more", "payments:rea") == counted("more") == 0


def test_other_members_keep_their_tokens(site, keys, payers):
    payers.run("group", "add", "payers", "bo@example.com")
    tokens = site.login(keys, "bo@example.com", scope=ALL)
    lose_membership(payers)
    site.me(tokens["access_token"])


@pytest.mark.both_databases
def test_a_scope_with_a_similar_name_is_not_lost(site, payers):
    payers.run("group", "create", "more", "--title", "More", "--scope", "payments:read")
    payers.run("group", "add", "more", "ann@example.com")
    keys = site.client(scope="payments:write payments:read")
    tokens = login(site, keys, "payments:read")
    lose_membership(payers)
    site.me(tokens["access_token"])


def test_the_page_offers_and_gives_a_personal_access_token_only_what_a_group_gives(site, payers):
    for email, offered in (("ann@example.com", True), ("bo@example.com", False)):
        site.http.reset()
        sign_in(site, email)
        boxes = site.http.get("/account/access").html.select("input[type=checkbox]")
        assert ("scope:payments:write" in [box["name"] for box in boxes]) is offered
        fields = {"name": "x", "current_password": PASSWORD, "scope:payments:write": "1"}
        answer = submit(site, "/account/tokens", page="/account/access", **fields)
        assert answer.status_int == (200 if offered else 422)
    with site.db() as db:
        assert db.scalars(select(PersonalToken.scope)).all() == ["payments:write"]


def test_no_user_gets_a_scope_of_administrators(site, commands):
    keys = site.client(scope="admin:users:read notes:read")
    commands.run("admin", "grant", "ann@example.com", "owner")
    tokens = login(site, keys, "admin:users:read notes:read")
    assert tokens["scope"] == "notes:read"
    assert login(site, keys, "admin:users:read", 400)["error"] == "invalid_scope"


@pytest.mark.parametrize(
    ("scope", "default"), [("admin:nothing:read", ""), ("admin:users:read", "admin:users:read")]
)
def test_clients_get_only_the_scopes_of_administrators_that_exist_and_none_by_default(
    commands, scope, default
):
    arguments = ("--name", "x", "--type", "personal", "--scope", scope, "--default-scope", default)
    assert "admin" in commands.run("client", "create", *arguments, status=1).output


@pytest.mark.both_databases
def test_tokens_from_before_the_mark_are_counted_and_ended(site_with, site, payers):
    scopes = {"scopes": "notes:read: Read\npayments:write: Pay"}
    before = site_with(**scopes, personal_token_scopes="payments:write")
    for email in ("ann@example.com", "bo@example.com"):
        before.user(email, confirmed=True)
    keys = before.client(scope=ALL)
    payers.run("group", "create", "payers", "--title", "Payers", "--scope", "payments:write")
    payers.run("group", "add", "payers", "ann@example.com")
    tokens = {
        email: before.login(keys, email, scope=ALL)
        for email in ("ann@example.com", "bo@example.com")
    }
    other = before.login(keys, "bo@example.com", scope="notes:read")
    token = personal.created(
        before, tokens["bo@example.com"]["access_token"], scope="payments:write"
    )

    def counted():
        findings = payers.json("doctor", status=1)["findings"]
        return [each["message"] for each in findings if "is for groups" in each["message"]]

    [message] = counted()
    assert message.startswith("payments:write is for groups")
    assert ": 2. They go on" in message
    assert payers.json("token", "revoke", "--scope", "payments:write")["revoked"] == 3
    assert counted() == []
    before.me(tokens["ann@example.com"]["access_token"], 401)
    before.me(token, 401)
    before.me(other["access_token"])
    assert site.login(keys, "bo@example.com", scope=ALL)["scope"] == "notes:read"


def test_a_scope_from_before_the_mark_is_left_out_at_refresh(site_with, site):
    before = site_with(scopes="notes:read: Read\npayments:write: Pay")
    before.user()
    keys = before.client(scope=ALL)
    tokens = before.login(keys, scope=ALL)
    assert site.refresh(keys, tokens["refresh_token"])["scope"] == "notes:read"
    with site.db() as db:
        assert db.scalars(select(Family.granted_scope)).one() == ALL
