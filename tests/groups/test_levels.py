"""Groups that count only from a level of the sign-in on: scopes, labels, and what a change ends."""

import pytest
from sqlalchemy import select, update

from authsite.groups import applying
from authsite.oauth.models import Family
from authsite.platform.audit.models import AuditEvent
from authsite.sign_in.credentials import pack
from authsite.users.models import User
from tests.support import personal
from tests.support.pages import sign_in

ALL = "notes:read payments:write"
STRONG = pack(("pwd", "otp"))


@pytest.fixture
def keys(site):
    return site.client(scope=ALL)


def require(payers, level):
    payers.run("group", "update", "payers", "--require-acr", level)


def strengthen(site):
    """Make all sign-ins ones with a second factor."""
    with site.db() as db:
        db.execute(update(Family).values(facts=STRONG))


def labels(site, email="ann@example.com"):
    with site.db() as db:
        return db.scalars(select(User.labels).where(User.email == email)).one()


def test_a_scope_is_left_out_of_a_sign_in_below_the_level_of_its_group(site, keys, payers):
    require(payers, "aal2")
    tokens = site.login(keys, scope=ALL)
    assert tokens["scope"] == "notes:read"
    assert site.introspect(keys, tokens["refresh_token"])["scope"] == "notes:read"
    refused = site.login(keys, scope="payments:write", status=400)
    assert refused["error"] == "invalid_scope"


def test_a_refresh_has_the_scope_for_a_sign_in_of_the_level(site, keys, payers):
    require(payers, "aal2")
    tokens = site.login(keys, scope=ALL)
    strengthen(site)
    assert site.introspect(keys, tokens["refresh_token"])["scope"] == ALL
    assert site.refresh(keys, tokens["refresh_token"])["scope"] == ALL


def test_of_two_groups_with_a_scope_the_lower_level_is_enough(site, keys, payers):
    payers.run("group", "create", "more", "--title", "x", "--scope", "payments:write")
    payers.run("group", "add", "more", "ann@example.com")
    require(payers, "phr")
    tokens = site.login(keys, scope=ALL)
    assert "scope" not in tokens
    payers.run("group", "update", "more", "--require-acr", "aal2")
    site.me(tokens["access_token"], 401)


def test_a_personal_access_token_is_of_no_level(site, keys, payers):
    tokens = site.login(keys, scope=ALL)
    token = personal.created(site, tokens["access_token"], scope="payments:write")
    require(payers, "aal1")
    site.me(token, 401)
    site.me(tokens["access_token"])
    sign_in(site)
    assert "payments:write" not in site.http.get("/account/access").text


@pytest.mark.both_databases
def test_a_new_level_ends_the_tokens_of_lower_sign_ins_alone(site, keys, payers):
    strong = site.login(keys, scope=ALL)
    strengthen(site)
    weak, without = site.login(keys, scope=ALL), site.login(keys, scope="notes:read")
    require(payers, "aal2")
    site.me(weak["access_token"], 401)
    assert site.refresh(keys, weak["refresh_token"], 400)["error"] == "invalid_grant"
    site.me(strong["access_token"])
    site.me(without["access_token"])
    with site.db() as db:
        [revoked] = db.scalars(select(AuditEvent).where(AuditEvent.event == "token.revoked"))
    assert revoked.details["why"] == "no group gives its scope"


@pytest.mark.both_databases
def test_a_new_level_counts_in_a_session_that_runs(site, keys, payers, monkeypatch):
    """For all members, in batches."""
    monkeypatch.setattr(applying, "BATCH", 1)
    payers.run("group", "add", "payers", "bo@example.com")
    tokens = site.login(keys, scope="notes:read")
    assert site.introspect(keys, tokens["access_token"])["groups"] == ["payers"]
    require(payers, "aal2")
    assert [labels(site), labels(site, "bo@example.com")] == ["payers=aal2"] * 2
    assert site.introspect(keys, tokens["access_token"])["groups"] == []
    strengthen(site)
    assert site.introspect(keys, tokens["access_token"])["groups"] == ["payers"]
    require(payers, "")
    assert [labels(site), labels(site, "bo@example.com")] == ["payers"] * 2


def test_labels_are_written_though_the_command_was_stopped_before(site, payers):
    with site.db() as db:
        db.execute(update(User).values(labels="payers"))
    for _ in range(2):
        require(payers, "aal2")
        with site.db() as db:
            db.execute(update(User).values(labels="payers"))  # as if it had been stopped
    require(payers, "aal2")
    assert labels(site) == "payers=aal2"
