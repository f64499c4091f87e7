"""``authsite group``: names, scopes, members and labels."""

import json

import pytest
from sqlalchemy import select

from authsite.platform.audit.models import AuditEvent
from authsite.users.groups.labels import GroupMember
from authsite.users.models import User
from tests.support.calls import REGISTER
from tests.support.site import bearer


def labels(site, email="ann@example.com"):
    with site.db() as db:
        return db.scalars(select(User.labels).where(User.email == email)).one()


def events(site, name):
    with site.db() as db:
        query = select(AuditEvent).where(AuditEvent.event.startswith(name)).order_by(AuditEvent.id)
        return db.scalars(query).all()


def test_a_group_is_created_shown_listed_changed_and_deleted(site, commands):
    made = commands.json(
        *("group", "create", "ops:eu_1-a", "--title", "Operations", "--scope", "payments:write")
    )
    assert made["scopes"] == ["payments:write"]
    assert made["require_acr"] is None
    commands.json("group", "add", "ops:eu_1-a", "ann@example.com")
    shown = commands.json("group", "show", "ops:eu_1-a")
    assert (shown["title"], shown["member_count"]) == ("Operations", 1)
    assert [each["email"] for each in shown["members"]] == ["ann@example.com"]
    changed = commands.json("group", "update", "ops:eu_1-a", "--title", "Ops")
    assert (changed["title"], changed["scopes"]) == ("Ops", ["payments:write"])
    names = [each["name"] for each in commands.json("group", "list")["groups"]]
    assert names == [
        *("authsite:viewer", "authsite:support", "authsite:security", "authsite:owner"),
        "ops:eu_1-a",
    ]
    commands.run("group", "delete", "ops:eu_1-a")
    assert labels(site) is None
    commands.run("group", "show", "ops:eu_1-a", status=1)


def test_a_membership_is_repeated_without_error_and_without_event(site, commands):
    commands.run("group", "create", "ops", "--title", "Ops")
    for _ in range(2):
        commands.run("group", "add", "ops", "ann@example.com", "--reason", "on call")
    assert labels(site) == "ops"
    for _ in range(2):
        commands.run("group", "remove", "ops", "ann@example.com")
    assert labels(site) is None
    added, removed = events(site, "group.member")
    actor = {"kind": "command", "id": None}
    assert added.details == {"group": "ops", "actor": actor, "reason": "on call"}
    assert removed.details == {"group": "ops", "actor": actor}
    assert "actor=command, reason=on call" in commands.run("audit", "list").output


def test_labels_have_the_names_in_their_order(site, commands):
    for name in ("b", "a-1", "c"):
        commands.run("group", "create", name, "--title", name)
        commands.run("group", "add", name, "ann@example.com")
    commands.run("admin", "grant", "ann@example.com", "viewer")
    assert labels(site).split() == sorted(["a-1", "authsite:viewer", "b", "c"])
    assert commands.json("user", "show", "ann@example.com")["groups"] == labels(site).split()


@pytest.mark.parametrize("name", ["", "Ops", "a b", "a,b", "a=b", "x" * 33, "ü", "a\nb"])
def test_a_name_has_only_the_allowed_characters(commands, name):
    output = commands.run("group", "create", name, "--title", "x", status=1).output
    assert "characters" in output


@pytest.mark.both_databases
def test_a_name_of_32_characters_is_allowed_and_a_taken_one_is_not(commands):
    commands.run("group", "create", "x" * 32, "--title", "x")
    output = commands.run("group", "create", "x" * 32, "--title", "y", status=1).output
    assert "already" in output


RESERVED = ["authsite:owner", "authsite:mine"]


@pytest.mark.parametrize("name", RESERVED)
@pytest.mark.parametrize(
    "arguments",
    [
        ("create", "{}", "--title", "x"),
        ("update", "{}", "--title", "x"),
        ("update", "{}", "--scope", ""),
        ("delete", "{}"),
        ("add", "{}", "ann@example.com"),
        ("remove", "{}", "ann@example.com"),
    ],
    ids=lambda arguments: "-".join(arguments[:3:2]),
)
def test_reserved_groups_are_not_touched(site, commands, arguments, name):
    given = [each.format(name) for each in arguments]
    assert "reserved" in commands.run("group", *given, status=1).output
    assert events(site, "group") == []
    assert labels(site) is None


@pytest.mark.parametrize(
    ("scope", "why"),
    [
        ("notes:read", "marks with [groups]"),
        ("payments:write unknown", "unknown: a group can bind only"),
        ("admin:users:read", "only the reserved groups"),
    ],
)
def test_only_scopes_for_groups_are_bound(commands, scope, why):
    arguments = ("ops", "--title", "x", "--scope", scope)
    assert why in commands.run("group", "create", *arguments, status=1).output
    commands.run("group", "create", "ops", "--title", "x")
    assert why in commands.run("group", "update", "ops", "--scope", scope, status=1).output


def test_a_group_may_require_a_level_which_the_labels_have(site, commands):
    arguments = ("ops", "--title", "x", "--require-acr", "aal2")
    assert commands.json("group", "create", *arguments)["require_acr"] == "aal2"
    commands.run("group", "add", "ops", "ann@example.com")
    assert labels(site) == "ops=aal2"
    commands.run("group", "update", "ops", "--title", "y")
    assert labels(site) == "ops=aal2"
    commands.run("group", "update", "ops", "--require-acr", "")
    assert labels(site) == "ops"
    assert commands.json("group", "show", "ops")["require_acr"] is None
    levels = [each.details.get("require_acr") for each in events(site, "group.c")]
    assert levels == ["aal2", "aal2", None]


def test_a_level_is_a_known_one(commands):
    for unknown in ("aal3", "AAL2", "aal2 phr"):
        arguments = ("ops", "--title", "x", "--require-acr", unknown)
        assert "aal1, aal2, phr" in commands.run("group", "create", *arguments, status=1).output


def test_a_change_of_nothing_is_no_event(site, commands):
    commands.run("group", "create", "ops", "--title", "Ops")
    for _ in range(2):
        commands.run("group", "update", "ops", "--title", "Operations", "--require-acr", "phr")
    assert len(events(site, "group.changed")) == 1


def test_the_reserved_groups_require_the_level_of_administrators(commands):
    listed = {
        each["name"]: each["require_acr"] for each in commands.json("group", "list")["groups"]
    }
    assert set(listed.values()) == {"aal2"}
    assert commands.json("group", "show", "authsite:owner")["require_acr"] == "aal2"


def test_a_user_is_in_at_most_thirty_groups(site, commands):
    commands.run("group", "create", "last", "--title", "x")
    with site.db() as db:
        ann = db.scalars(select(User).where(User.email == "ann@example.com")).one()
        for number in range(30):
            db.add(GroupMember(user_id=ann.id, group_name=f"g{number}", created_at=ann.created_at))
    done = commands.run("group", "add", "last", "ann@example.com", "--json", status=1)
    assert "in 30 groups already" in json.loads(done.stderr)["error"]["message"]
    assert labels(site) is None


def test_an_unknown_group_or_user_is_named(commands):
    assert "no group nix" in commands.run("group", "add", "nix", "ann@example.com", status=1).output
    commands.run("group", "create", "ops", "--title", "x")
    assert "nix@x.y" in commands.run("group", "add", "ops", "nix@x.y", status=1).output


def test_nobody_gets_into_a_group_by_a_request(site, commands):
    commands.run("group", "create", "ops", "--title", "Ops")
    more = {"groups": "ops authsite:owner", "labels": "ops authsite:owner", "origin": "command"}
    site.http.post("/v1/register", {**REGISTER, "email": "cy@example.com", **more}, status=201)
    token = site.login(site.client())["access_token"]
    for send in (site.http.put_json, site.http.patch_json):
        for groups in ("ops", ["ops"]):
            body = {"name": "Ann", **more, "groups": groups}
            send("/v1/user", body, headers=bearer(token), status="*")
    with site.db() as db:
        assert db.scalars(select(GroupMember)).all() == []
        assert db.scalars(select(User.labels)).all() == [None] * 3
        origins = db.scalars(select(User.origin)).all()
    assert sorted(origins) == ["command", "command", "registered"]


@pytest.mark.both_databases
def test_memberships_are_exported_and_erased_with_the_user(site, commands):
    commands.run("group", "create", "ops", "--title", "Ops")
    commands.run("group", "add", "ops", "ann@example.com")
    data = commands.json("user", "export", "ann@example.com")
    assert [each["group_name"] for each in data["groups"]] == ["ops"]
    assert data["user"]["labels"] == "ops"
    assert data["user"]["origin"] == "command"
    commands.run("user", "delete", "ann@example.com", "--yes")
    assert commands.json("group", "show", "ops")["member_count"] == 0


def test_whom_nobody_has_confirmed_is_added_with_a_warning(site, commands):
    site.user("cy@example.com")
    commands.run("group", "create", "ops", "--title", "Ops")
    assert "not confirmed" in commands.run("group", "add", "ops", "cy@example.com").stderr


@pytest.mark.parametrize("reason", ["a" * 201, "one\nline", "f\udcfcr Ann"])
def test_a_reason_is_one_line_of_text(site, commands, reason):
    """The audit trail has it for good, and pages and files show it."""
    commands.run("group", "create", "ops", "--title", "Operations")
    before = len(site.events())
    status, said = (2, "UTF-8") if "\udcfc" in reason else (1, "one line")
    given = ("group", "add", "ops", "ann@example.com", "--reason", reason)
    assert said in commands.run(*given, status=status).stderr
    assert site.events()[before:] == []
