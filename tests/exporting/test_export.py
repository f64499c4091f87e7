"""``authsite export``: everything back, by a schema, in a file for its owner only."""

import json
import subprocess
import sys
import uuid
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from click.testing import CliRunner
from jsonschema import Draft202012Validator
from sqlalchemy import select

from authsite.cli import authsite
from authsite.groups import members, service
from authsite.groups.service import GroupValues
from authsite.invitations.service import create as invite
from authsite.oauth.models import Client, Family
from authsite.platform.audit.service import Cause
from authsite.platform.runtime import clock
from authsite.transfer.exporting.export import parts_of
from authsite.users import service as users
from authsite.users.models import User
from tests.support import personal
from tests.support.acting import acting
from tests.support.home import CHECKOUT
from tests.support.identities import linked
from tests.support.in_process import write_ini
from tests.support.site import PASSWORD

pytestmark = pytest.mark.both_databases

OPS = GroupValues("Operations")
SCHEMA = json.loads((CHECKOUT / "docs/export.schema.json").read_text())
# Columns that are not facts about a user: counters, and what is pending.
INTERNAL = {
    "User": "epoch recovery_version recognition_version"
    " pending_email pending_epoch pending_expires_at pending_asked_at pending_by_link"
    " links_ended_at labels factor_version folded_name",
    "TotpFactor": "",
    "Passkey": "",
    "RecoveryCode": "",
    "Identity": "",
    "Group": "",
    "GroupMember": "",
    "Invitation": "key version",
    "Client": "epoch document_expires_at asked_at used_at folded_name",
    "Family": "user_epoch client_epoch generation rescoped facts auth_at recognized identity_id"
    " ends_at",
    "PersonalToken": "user_epoch client_epoch identity_id",
    "ClientUri": "id",
    "Resource": "",
    "Consent": "",
    "AuditEvent": "",
}


def run(site, tmp_path, *arguments, status=0):
    ini = write_ini(tmp_path / "site.ini", site.url)
    done = CliRunner().invoke(authsite, ["export", *arguments, "--config", ini])
    assert done.exit_code == status, done.output
    return done


def exported(site, tmp_path, *arguments):
    """The lines of an export, each checked against the schema."""
    text = run(site, tmp_path, *arguments).stdout
    found = [json.loads(line) for line in text.splitlines()]
    validator = Draft202012Validator(SCHEMA)
    assert [error.message for line in found for error in validator.iter_errors(line)] == []
    return found


def of(lines, type):
    return [line for line in lines if line["type"] == type]


def moment(value):
    return value and value.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%S.%fZ")


@pytest.fixture
def filled(site):
    """A site with users of every kind of hash, clients, families, and events."""
    keys = site.client("password", scope="a b", default_scope="a", name='Ünï "c" \\ \N{CAT}')
    site.user("ann@example.com", confirmed=True)
    site.user("bo@example.com")
    tokens = site.login(keys)
    site.refresh(keys, tokens["refresh_token"])
    machine = site.client("personal")
    site.token(machine, grant_type="client_credentials")
    with site.db() as db:
        bo = db.scalars(select(User).where(User.email == "bo@example.com")).one()
        linked(db, bo.id, email=None, trusted=False)
        bo.name = "line\u2028separator </script> \N{GRINNING FACE}"
        bo.password_hash = "pbkdf2_sha256$1000$salt$" + "a" * 43 + "="
        users.disable(acting(db), bo)
        service.create(acting(db, site.app.registry["authsite"]), "ops", OPS, Cause("command"))
        members.add(acting(db), "ops", bo.id, Cause("command", reason="on call"))
        services = site.app.registry["authsite"]
        invite(
            acting(db, services, base_urls=("http://localhost",)),
            "cy@example.com",
            "ops",
            Cause("command"),
        )
        client = db.get(Client, uuid.UUID(machine.client_id))
        client.previous_secret_hash, client.secret_hash = client.secret_hash, "$2y$10$hash"
    return site


def test_every_row_is_there_and_says_what_the_tables_say(filled, tmp_path):
    lines = exported(filled, tmp_path)
    assert (lines[0]["type"], lines[0]["format"]) == ("export", 1)
    assert lines[-1] == {
        "type": "end", "users": 2, "identities": 1, "groups": 1, "memberships": 1,
        "invitations": 1, "clients": 2, "client_uris": 0, "resources": 0, "consents": 0,
        "families": 2, "personal_tokens": 0,
        "audit_events": len(filled.events()),
    }  # fmt: skip
    with filled.db() as db:
        rows = {str(user.id): user for user in db.scalars(select(User))}
        families = {str(each.id): each for each in db.scalars(select(Family))}
    for line in of(lines, "user"):
        row = rows.pop(line["id"])
        for name in ("email", "username", "phone", "name"):
            assert line[name] == getattr(row, name)
        for name in ("created_at", "updated_at", "email_verified_at", "disabled_at"):
            assert line[name] == moment(getattr(row, name))
        assert line["password"]["hash"] == row.password_hash
    assert rows == {}
    assert {line["password"]["scheme"] for line in of(lines, "user")} == {
        "authsite-v1", "pbkdf2_sha256",
    }  # fmt: skip
    [invitation] = of(lines, "invitation")
    assert (invitation["email"], invitation["group_name"]) == ("cy@example.com", "ops")
    for line in of(lines, "family"):
        row = families.pop(line["id"])
        assert line["user_id"] == (row.user_id and str(row.user_id))
        assert line["rotated_at"] == moment(row.rotated_at)
    assert families == {}
    events = of(lines, "audit_event")
    assert [event["event"] for event in sorted(events, key=lambda each: each["id"])] == (
        filled.events()
    )
    assert {len(line["secrets"]) for line in of(lines, "client")} == {1, 2}


def test_no_line_has_what_opens_anything(filled, tmp_path):
    text = run(filled, tmp_path).stdout
    assert PASSWORD not in text
    assert '"at_' not in text
    assert '"rt_' not in text
    assert filled.cfg.secret[0].reveal() not in text


def test_each_column_is_exported_or_internal(site):
    for part in parts_of(site.app.registry["authsite"]):
        columns = set(part.model.__table__.columns.keys())
        fields = set(part.line.fields.__annotations__) - {"type"} - set(part.line.columns)
        named = {column or name for name, column in part.line.columns.items()}
        if part.model is Client:
            fields.discard("type")
        internal = set(INTERNAL[part.model.__name__].split())
        assert fields | named | internal == columns, part.model


def test_the_schema_in_the_docs_is_what_the_command_prints_and_refuses_other_lines(site, tmp_path):
    printed = run(site, tmp_path, "--schema").stdout
    assert (CHECKOUT / "docs/export.schema.json").read_text() == printed
    validator = Draft202012Validator(SCHEMA)
    Draft202012Validator.check_schema(SCHEMA)
    counts = (
        "users", "identities", "groups", "memberships", "invitations", "clients", "client_uris",
        "resources", "consents", "families", "personal_tokens", "audit_events",
    )  # fmt: skip
    good = {"type": "end", **dict.fromkeys(counts, 0)}
    assert validator.is_valid(good)
    for bad in ({**good, "more": 1}, {**good, "users": "0"}, {**good, "type": "user"}, {}):
        assert not validator.is_valid(bad)


def test_a_file_is_for_its_owner_only_and_replaced_only_by_a_whole_one(filled, tmp_path):
    path = tmp_path / "out.jsonl"
    path.write_text("former")
    path.chmod(0o644)
    assert f"chmod 600 {path}" in run(filled, tmp_path, "--output", str(path), status=1).stderr
    assert path.read_text() == "former"
    path.unlink()
    done = run(filled, tmp_path, "--output", str(path), "--json")
    numbers = json.loads(done.stdout)
    assert (numbers["users"], numbers["file"]) == (2, str(path))
    assert path.stat().st_mode & 0o777 == 0o600
    assert json.loads(path.read_text().splitlines()[-1])["users"] == 2
    assert "2 users, 1 identities, 2 clients" in run(filled, tmp_path, "--output", str(path)).stdout
    assert "others" not in run(filled, tmp_path).stderr
    assert "--output" in run(filled, tmp_path, "--json", status=2).stderr
    assert not [each for each in tmp_path.iterdir() if each.suffix == ".part"]
    assert filled.events().count("database.exported") == 3


@pytest.mark.parametrize("backend", ["sqlite"], indirect=True)
def test_no_export_takes_the_place_of_the_database(filled, tmp_path):
    path = Path(filled.url.removeprefix("sqlite:///"))
    before = path.stat().st_ino
    (tmp_path / "link").symlink_to(path)
    for output in (path, tmp_path / "link"):
        refused = run(filled, tmp_path, "--output", str(output), status=1).stderr
        assert "is another file of this command" in refused
    assert path.stat().st_ino == before
    assert (tmp_path / "link").is_symlink()
    assert "database.exported" not in filled.events()


@pytest.mark.parametrize("backend", ["sqlite"], indirect=True)
@pytest.mark.parametrize(("mode", "status"), [(0o644, 1), (0o600, 0)])
def test_redirected_output_is_refused_if_others_may_read_it(site, tmp_path, mode, status):
    ini = write_ini(tmp_path / "site.ini", site.url)
    path = tmp_path / "redirected.jsonl"
    path.touch()
    path.chmod(mode)
    command = [sys.executable, "-m", "authsite", "export", "--config", ini]
    with path.open("w") as file:
        done = subprocess.run(command, stdout=file, stderr=subprocess.PIPE, text=True)
    assert done.returncode == status, done.stderr
    assert ("umask 077" in done.stderr, path.stat().st_size > 0) == (status == 1, status == 0)


def test_all_lines_are_as_of_one_moment(filled, tmp_path):
    from authsite.transfer.exporting.export import lines

    made = lines(filled.app.registry["authsite"])
    seen = [next(made), next(made)]  # the head, and the users
    with filled.db() as db:
        for each in db.scalars(select(Family)):
            each.agent = "changed since"
    text = "\n".join("\n".join(some) for some in [*seen, *made])
    assert "changed since" not in text
    assert len(text.splitlines()) > 6


@pytest.mark.parametrize("backend", ["sqlite"], indirect=True)
def test_a_personal_token_knows_its_session_and_client(site, tmp_path):
    site.user()
    keys = site.client()
    personal.create(site, site.login(keys)["access_token"])
    lines = exported(site, tmp_path)
    [line], [family] = of(lines, "personal_token"), of(lines, "family")
    assert (line["name"], line["client_id"]) == ("backup", keys.client_id)
    assert line["session_id"] == family["id"]
    assert datetime.fromisoformat(line["expires_at"]) > clock.now() + timedelta(days=1)
