"""The commands for users are on the services of administrators."""

from uuid import UUID

import pytest

from authsite.platform.audit.models import AuditEvent
from authsite.users.models import User
from tests.support.in_process import Commands

ANN = "ann@example.com"


@pytest.fixture
def commands(site, tmp_path):
    return Commands(site, tmp_path, registration="invite", base_url="http://localhost")


@pytest.fixture
def ann(site):
    """A confirmed user."""
    return site.user(ANN, confirmed=True)


def details(site, event):
    with site.db() as db:
        return [row.details for row in db.query(AuditEvent).filter_by(event=event)]


def test_a_command_is_the_actor_tells_the_user_and_repeats_nothing(site, commands, ann):
    for _ in range(2):
        commands.json("user", "disable", ANN, "--reason", "asked for")
    actor = {"kind": "command", "id": None}
    assert details(site, "user.disabled") == [{"actor": actor, "reason": "asked for"}]
    commands.json("user", "enable", ANN)
    assert details(site, "user.enabled") == [{"actor": actor}]
    assert len(site.mails()) == 1  # of the disabled user it is not needed any more


def test_a_command_erases_at_once_and_mails_nothing(site, commands, ann):
    assert commands.json("user", "delete", ANN, "--yes")["deleted"] is True
    with site.db() as db:
        assert db.get(User, ann.id) is None
    assert site.mails() == []


def test_limits_of_a_user_are_listed(site, commands, ann):
    assert commands.json("user", "limits", ANN)["limits"] == []


CREATE = ("user", "create", "--email", "new@example.com", "--password-stdin")
PASSWORD = "purple wolf 77 tea\n"


def test_a_user_is_created_with_a_username_and_groups(site, tmp_path):
    commands = Commands(site, tmp_path, login_identifiers="email username")
    for name in ("staff", "ops"):
        commands.json("group", "create", name, "--title", name.title())
    more = ("--username", "newcomer", "--group", "staff", "--group", "ops", "--confirmed")
    made = commands.json(*CREATE, *more, stdin=PASSWORD)
    assert made["username"] == "newcomer"
    assert commands.json("user", "show", "new@example.com")["groups"] == ["ops", "staff"]
    with site.db() as db:
        assert db.get(User, UUID(made["id"])).labels == "ops staff"
    added = details(site, "group.member_added")
    assert [each["group"] for each in added] == ["staff", "ops"]
    assert all(each["actor"]["kind"] == "command" for each in added)


@pytest.mark.parametrize(
    ("more", "said"),
    [
        (("--group", "nobody"), "nobody"),
        (("--group", "authsite:owner"), "authsite:owner"),
        (("--username", "newcomer"), "login-identifiers"),
    ],
)
def test_a_user_with_an_unknown_group_or_kind_of_name_is_not_created(site, commands, more, said):
    done = commands.run(*CREATE, *more, stdin=PASSWORD, status=1)
    assert said in done.output
    assert commands.json("user", "list")["total"] == 0
