"""``authsite user invite`` and ``authsite invitation``."""

import json
from datetime import timedelta

import pytest
from sqlalchemy import update

from authsite.invitations.models import Invitation
from authsite.platform.audit.models import AuditEvent
from authsite.platform.runtime import clock
from tests.support.in_process import Commands
from tests.support.mails import link_in


@pytest.fixture
def commands(site, tmp_path):
    return Commands(site, tmp_path, registration="invite", base_url="http://localhost")


def test_people_are_invited_listed_and_accept(site, inviting, commands):
    given = "user", "invite", "ann@example.com", "Bo@Example.com", "--group", "ops"
    made = commands.json(*given, "--reason", "new in the team")
    assert [each["email"] for each in made["invitations"]] == ["ann@example.com", "Bo@example.com"]
    listed = commands.json("invitation", "list")
    assert listed["total"] == 2
    first = next(each for each in listed["invitations"] if each["email"] == "ann@example.com")
    assert (first["group"], first["inviter"]) == ("ops", {"kind": "command", "id": None})
    assert not {"token", "link", "version"} & first.keys()
    with site.db() as db:
        details = db.query(AuditEvent).filter_by(event="invitation.sent").first().details
    assert (details["actor"], details["reason"]) == (
        {"kind": "command", "id": None},
        "new in the team",
    )
    mails = {mail["To"]: mail for mail in site.mails()}
    assert inviting.accept(link_in(mails["ann@example.com"])).status_int == 303
    assert commands.json("invitation", "list")["total"] == 1
    commands.run("invitation", "list")


def test_a_file_of_addresses_can_be_repeated_without_more_mails(site, commands, tmp_path):
    file = tmp_path / "addresses.txt"
    file.write_text("ann@example.com\n\nbo@example.com\nann@example.com\n")
    assert commands.json("user", "invite", "--from", file)["total"] == 2
    assert len(site.mails()) == 2
    again = commands.json("user", "invite", "cy@example.com", "--from", file)
    sent = {each["email"]: each["sent"] for each in again["invitations"]}
    assert sent == {"cy@example.com": True, "ann@example.com": False, "bo@example.com": False}
    assert [mail["To"] for mail in site.mails()] == ["cy@example.com"]


def test_a_wrong_address_invites_no_one(inviting, commands):
    done = commands.run("user", "invite", "ann@example.com", "nonsense", status=1)
    assert "nonsense: " in done.output
    assert inviting.rows() == []
    commands.run("user", "invite", status=2)


@pytest.mark.parametrize("group", ["authsite:owner", "authsite:viewer", "authsite:new"])
def test_no_invitation_to_a_reserved_group(inviting, commands, group):
    done = commands.run("user", "invite", "ann@example.com", "--group", group, status=1)
    assert "reserved" in done.output
    commands.run("user", "invite", "ann@example.com", "--group", "unknown", status=1)
    assert inviting.rows() == []


def test_with_off_the_command_ends_with_1(site, inviting, tmp_path):
    off = Commands(site, tmp_path, registration="off")
    done = off.run("user", "invite", "ann@example.com", "--json", status=1)
    assert json.loads(done.stderr)["error"]["code"] == "failed"
    assert inviting.rows() == []


def test_resend_and_revoke(site, inviting, commands):
    inviting.invite(group="ops")
    first = inviting.mailed()
    [sent] = commands.json("invitation", "resend", "ann@example.com")["invitations"]
    second = inviting.mailed()
    site.http.get(first, status=422)
    site.http.get(second, status=200)
    [revoked] = commands.json("invitation", "revoke", sent["id"])["invitations"]
    assert revoked["id"] == sent["id"]
    site.http.get(second, status=422)
    for command in ("resend", "revoke"):
        commands.run("invitation", command, sent["id"], status=1)
        commands.run("invitation", command, "ann@example.com", status=1)
    names = [name for name in site.events() if name.startswith("invitation")]
    assert names == ["invitation.sent", "invitation.sent", "invitation.revoked"]


def test_ended_invitations_are_purged_after_seven_days(site, inviting, commands):
    for email, days in (("ann@example.com", 8), ("bo@example.com", 6)):
        row = inviting.invite(email)
        with site.db() as db:
            ended = clock.now() - timedelta(days=days)
            db.execute(update(Invitation).where(Invitation.id == row.id).values(expires_at=ended))
    assert commands.json("invitation", "list")["total"] == 0
    commands.run("purge")
    assert [row.email for row in inviting.rows()] == ["bo@example.com"]
