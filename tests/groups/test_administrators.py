"""``authsite admin``: who administers, whom it tells, and the last owner."""

from itertools import pairwise

import pytest
from sqlalchemy import select

from authsite.platform.audit.models import AuditEvent
from authsite.platform.mail.outbox import OutboxMessage
from authsite.users.groups.labels import ADMIN_SCOPES, RESERVED
from authsite.users.models import User
from tests.support import mails as sent
from tests.support.pages import sign_in, submit
from tests.support.site import PASSWORD, bearer


def owners(commands):
    found = commands.json("admin", "list")["administrators"]
    return [each["email"] for each in found if "authsite:owner" in each["groups"]]


def mails(site, kind):
    with site.db() as db:
        query = select(OutboxMessage.address).where(OutboxMessage.kind == kind)
        return sorted(db.scalars(query))


def test_roles_are_granted_listed_and_revoked(commands):
    assert commands.json("admin", "list") == {"administrators": [], "total": 0}
    commands.run("admin", "grant", "ann@example.com", "owner")
    commands.run("admin", "grant", "ann@example.com", "authsite:owner")
    commands.run("admin", "grant", "ann@example.com", "authsite:viewer")
    commands.run("admin", "grant", "bo@example.com", "support")
    assert commands.json("admin", "list") == {
        "administrators": [
            {"email": "ann@example.com", "groups": ["authsite:owner", "authsite:viewer"]},
            {"email": "bo@example.com", "groups": ["authsite:support"]},
        ],
        "total": 2,
    }
    commands.run("admin", "revoke", "bo@example.com", "authsite:support")
    commands.run("admin", "revoke", "bo@example.com", "support")
    assert [each["email"] for each in commands.json("admin", "list")["administrators"]] == [
        "ann@example.com"
    ]


def test_who_takes_an_owner_away_is_told_of_the_clients_that_may_administer(site, commands):
    """An owner has given them their scopes, and may know their secrets; they stay."""
    known = site.client("personal", scope="admin:users:read", name="Provisioning")
    disabled = site.client("personal", scope="admin:users:read")
    commands.run("client", "disable", disabled.client_id)
    site.client("personal", scope="notes:read")
    for email in ("ann@example.com", "bo@example.com"):
        commands.run("admin", "grant", email, "owner")
    commands.run("admin", "grant", "bo@example.com", "viewer")
    assert commands.run("admin", "revoke", "bo@example.com", "viewer").stderr == ""
    output = commands.run("admin", "revoke", "bo@example.com", "owner").stderr
    assert f"the client {known.client_id} (Provisioning) may administer" in output
    assert output.count("may administer") == 1
    assert commands.run("admin", "revoke", "bo@example.com", "owner").stderr == ""


def test_a_user_made_by_command_has_the_command_as_its_actor(site, commands):
    given = ("--confirmed", "--password-stdin", "--json")
    commands.run("user", "create", "--email", "cy@example.com", *given, stdin="purple wolf 77 tea")
    with site.db() as db:
        query = select(AuditEvent).join(User, User.id == AuditEvent.user_id)
        found = db.scalars(query.where(User.email == "cy@example.com")).all()
    actor = {"actor": {"kind": "command", "id": None}}
    recorded = {each.event: each.details for each in found}
    assert recorded["user.created"] == actor
    assert all(details == actor for details in recorded.values())
    assert len(recorded) == 2  # the other one: that the address is confirmed


def test_each_change_is_recorded_with_actor_and_reason(site, commands):
    commands.run("admin", "grant", "ann@example.com", "owner", "--reason", "founder")
    commands.run("admin", "grant", "ann@example.com", "owner")
    with site.db() as db:
        query = select(AuditEvent).where(AuditEvent.event.startswith("admin."))
        [event] = db.scalars(query)
    assert event.event == "admin.granted"
    assert event.details == {
        "group": "authsite:owner",
        "actor": {"kind": "command", "id": None},
        "reason": "founder",
    }


def test_all_owners_are_told(site, commands):
    commands.run("admin", "grant", "ann@example.com", "owner")
    assert mails(site, "admin_granted") == ["ann@example.com"]
    commands.run("admin", "grant", "bo@example.com", "owner")
    assert mails(site, "admin_granted") == ["ann@example.com", "ann@example.com", "bo@example.com"]
    commands.run("admin", "revoke", "bo@example.com", "owner")
    assert mails(site, "admin_revoked") == ["ann@example.com", "bo@example.com"]


@pytest.mark.parametrize("role", ["authsite:mine", "root", "ops", "admin:users:read"])
def test_only_the_four_roles_exist(commands, role):
    assert (
        "authsite:viewer"
        in commands.run("admin", "grant", "ann@example.com", role, status=1).output
    )


def test_only_a_confirmed_user_administers(site, commands):
    site.user("cy@example.com")
    output = commands.run("admin", "grant", "cy@example.com", "owner", status=1).output
    assert "authsite user confirm" in output
    assert owners(commands) == []


def test_a_grant_warns_where_no_mail_was_sent(site, commands):
    warned = commands.run("admin", "grant", "ann@example.com", "owner").stderr
    assert "no mail has been sent" in warned
    sent.send_all(site.app.registry)
    assert commands.run("admin", "grant", "bo@example.com", "owner").stderr == ""


def delete_by_api(site):
    token = site.login(site.client())["access_token"]
    return site.http.delete_json(
        "/v1/user", {"current_password": PASSWORD}, headers=bearer(token), status=409
    ).json["errors"][0]["code"]


def delete_on_page(site):
    sign_in(site)
    fields = {"current_password": PASSWORD}
    answer = submit(site, "/account/delete", page="/account", **fields)
    assert "Make another person an owner first" in answer.text
    return {409: "last_owner"}[answer.status_int]


@pytest.mark.parametrize("delete", [delete_by_api, delete_on_page])
def test_the_last_owner_cannot_delete_the_account(site, commands, delete):
    commands.run("admin", "grant", "ann@example.com", "owner")
    assert delete(site) == "last_owner"
    assert owners(commands) == ["ann@example.com"]


COMMANDS = [
    ("user", "disable", "ann@example.com"),
    ("user", "delete", "ann@example.com", "--yes"),
    ("admin", "revoke", "ann@example.com", "owner"),
]


@pytest.mark.parametrize("command", COMMANDS, ids=lambda command: command[1])
def test_no_command_removes_the_last_enabled_owner(commands, command):
    commands.run("admin", "grant", "ann@example.com", "owner")
    commands.run("admin", "grant", "bo@example.com", "owner")
    commands.run("user", "disable", "bo@example.com")
    assert "last enabled owner" in commands.run(*command, status=1).output
    commands.run("user", "enable", "bo@example.com")
    commands.run(*command)


def test_a_disabled_owner_may_go(commands):
    commands.run("admin", "grant", "ann@example.com", "owner")
    commands.run("admin", "grant", "bo@example.com", "owner")
    commands.run("user", "disable", "bo@example.com")
    commands.run("admin", "revoke", "bo@example.com", "owner")
    assert owners(commands) == ["ann@example.com"]


def test_the_scopes_of_a_role_contain_those_of_the_one_before():
    scopes = [set(group.scopes) for group in RESERVED.values()]
    assert all(less < more for less, more in pairwise(scopes))
    assert scopes[-1] == ADMIN_SCOPES
    alone = scopes[-1] - scopes[-2]
    assert alone == {"admin:clients:write", "admin:groups:write"}
