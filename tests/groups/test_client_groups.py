"""A client that is for the members of a group: every login, every refresh, and the group itself."""

from uuid import UUID

import pytest
from sqlalchemy import select, update

from authsite.oauth.clients import groups
from authsite.oauth.models import Client
from authsite.platform.audit.models import AuditEvent
from tests.support.calls import LOGIN_FORM
from tests.support.site import WEB


def require(site, keys, group):
    with site.db() as db:
        client = update(Client).where(Client.id == UUID(keys.client_id))
        db.execute(client.values(require_group=group))


@pytest.fixture
def keys(site, payers):
    """A client for payers, of whom Ann is one and Bo is not."""
    made = site.client(scope="notes:read")
    require(site, made, "payers")
    return made


def code_of(answer):
    return answer["error"], [each["code"] for each in answer.get("errors", [])]


REFUSED = ("invalid_grant", ["group_required"])


def test_only_members_log_in(site, keys):
    site.login(keys)
    assert code_of(site.login(keys, "bo@example.com", status=400)) == REFUSED
    [family] = site.families()
    with site.db() as db:
        query = select(AuditEvent).where(AuditEvent.event == "login.failed")
        failed = db.scalars(query).one()
    assert failed.details == {"reason": "group_missing"}
    assert (failed.user_id != family.user_id, failed.client_id) == (True, UUID(keys.client_id))


def test_a_wrong_password_does_not_say_who_is_a_member(site, keys):
    answers = [
        site.login(keys, name, "wrong password", status=400)
        for name in ("ann@example.com", "bo@example.com", "nobody@example.com")
    ]
    assert [code_of(each) for each in answers] == [("invalid_grant", [])] * 3


def test_who_is_no_member_any_more_gets_no_new_tokens(site, keys, payers):
    tokens = site.login(keys)
    payers.run("group", "remove", "payers", "ann@example.com")
    assert code_of(site.refresh(keys, tokens["refresh_token"], 400)) == REFUSED
    assert site.introspect(keys, tokens["refresh_token"]) == {"active": False}
    assert site.families()[0].generation == 0
    payers.run("group", "add", "payers", "ann@example.com")
    assert site.introspect(keys, tokens["refresh_token"])["active"]
    site.refresh(keys, tokens["refresh_token"])  # nothing was used up


def test_a_group_required_later_counts_from_the_next_refresh(site, keys):
    require(site, keys, None)
    tokens = site.login(keys, "bo@example.com")
    require(site, keys, "payers")
    assert code_of(site.refresh(keys, tokens["refresh_token"], 400)) == REFUSED


def test_a_group_that_does_not_exist_is_nobodys(site, keys):
    require(site, keys, "gone")  # as an import may leave it
    assert code_of(site.login(keys, status=400)) == REFUSED


def test_a_client_that_acts_for_itself_is_in_no_group_and_not_asked(site, payers):
    keys = site.client("personal")
    require(site, keys, "payers")
    tokens = site.token(keys, grant_type="client_credentials").json
    assert site.introspect(keys, tokens["refresh_token"])["active"]
    site.refresh(keys, tokens["refresh_token"])


def test_the_server_of_a_first_party_client_asks_too(site_with):
    made = site_with(**WEB)
    made.user(confirmed=True)
    require(made, made.first_party("web"), "payers")
    answer = made.http.post("/v1/clients/web/login", LOGIN_FORM, status=400).json
    assert [each["code"] for each in answer["errors"]] == ["group_required"]


def test_a_group_that_a_client_requires_is_not_deleted(site, keys, payers):
    refused = payers.run("group", "delete", "payers", status=1).output
    assert keys.client_id in refused
    assert "client update" in refused
    assert payers.json("group", "show", "payers")["member_count"] == 1
    require(site, keys, None)
    payers.run("group", "delete", "payers")


def test_a_client_can_require_what_exists(site, payers):
    with site.db() as db:
        groups.require_existing(db, "payers")
        groups.require_existing(db, "authsite:owner")
        for name in ("gone", "authsite:gone", ""):
            with pytest.raises(ValueError, match="group create"):
                groups.require_existing(db, name)
