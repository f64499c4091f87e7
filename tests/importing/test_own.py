"""What one authsite has exported, another one imports, with everything that opens an account."""

import json

import pytest
from click.testing import CliRunner
from sqlalchemy import delete, select
from sqlalchemy.orm import Session

from authsite.cli import authsite
from authsite.groups import administrators, members, service
from authsite.groups.service import GroupValues
from authsite.oauth.clients import service as clients
from authsite.oauth.models import Client
from authsite.platform.audit.service import Cause
from authsite.platform.db import open_database
from authsite.users.groups.labels import Group, GroupMember
from authsite.users.identities import Identity
from authsite.users.models import LoginName, User
from tests.support import databases
from tests.support.acting import acting
from tests.support.identities import linked
from tests.support.in_process import write_ini
from tests.support.site import PASSWORD, ClientKeys

PEPPER = "p8Vq2ZsWmYtKx4LrJbH7dPfUc3NgEaXo1Ti8"


def tables(database):
    """All users, login names, clients and identities."""
    with database.autocommit.connect() as connection:
        return [
            connection.execute(select(table).order_by(*table.primary_key)).all()
            for table in (User.__table__, LoginName.__table__, Client.__table__, Identity.__table__)
        ]


def apart_from_origin(rows):
    """The rows of users without what an import writes itself."""
    return [{**row._mapping, "origin": None} for row in rows]


def clients_of(rows):
    """The rows of clients without the epoch."""
    return [{**row._mapping, "epoch": None} for row in rows]


@pytest.fixture
def export(site_with, tmp_path):
    """A site with users and clients, and the file of its export."""
    site = site_with(password_pepper=PEPPER, login_identifiers="email username")
    site.user(confirmed=True, username="annie")
    site.user("bo@example.com")
    keys = site.client("password", scope="a b", default_scope="a")
    with site.db() as db:
        client = db.scalars(select(Client)).one()
        secret = clients.rotate_secret(acting(db), client)
        client.grant_types = "password refresh_token client_credentials"
        clients.disable(acting(db), clients.create(acting(db), "off", "resource-server")[0].id)
        ann = db.scalars(select(User).where(User.username == "annie")).one()
        ann.terms_url, ann.terms_accepted_at = "https://example.com/terms", ann.created_at
        linked(db, ann.id, email=None, trusted=False, used_at=ann.created_at)
        bo = db.scalars(select(User).where(User.username.is_(None))).one()
        bo.disabled_at, bo.password_hash = bo.updated_at, None
    path = tmp_path / "authsite.jsonl"
    ini = write_ini(tmp_path / "from.ini", site.url)
    done = CliRunner().invoke(authsite, ["export", "--output", str(path), "--config", ini])
    assert done.exit_code == 0, done.output
    return site, path, [keys, ClientKeys(keys.client_id, secret)]


def imported(url, path, tmp_path, *more, status=0, **settings):
    given = {"login-identifiers": "email username", "password-pepper": PEPPER, **settings}
    ini = write_ini(tmp_path / "to.ini", url, **given)
    arguments = ["import", "authsite", str(path), "--json", "--config", ini, *more]
    done = CliRunner().invoke(authsite, arguments)
    assert done.exit_code == status, done.output
    return done.stderr if status else json.loads(done.stdout.splitlines()[-1])


def test_users_and_clients_are_the_same_in_another_authsite(export, backend, tmp_path):
    site, path, keys = export
    url = databases.migrated(databases.new_url(backend, tmp_path, "other_authsite"))
    other = open_database(url)
    try:
        for _ in range(2):
            done = imported(url, path, tmp_path)
        assert (done["users"]["present"], done["clients"]["present"]) == (2, 2)
        before, after = tables(site.database), tables(other)
        assert apart_from_origin(after[0]) == apart_from_origin(before[0])
        assert [row.origin for row in after[0]] == ["imported"] * 2
        assert after[1] == before[1]
        # The epoch begins again: no token of the former service is valid here anyway.
        assert [clients_of(rows) for rows in (after[2], before[2])] == [clients_of(after[2])] * 2
        assert len(after[2]) == 2
        assert after[3] == before[3]
        assert (len(after[3]), done["identities"]["present"]) == (1, 1)
    finally:
        other.dispose()
    databases.empty(site.database)
    imported(site.url, path, tmp_path)
    for each in keys:
        site.login(each, "annie", PASSWORD)


def test_groups_come_along_and_no_one_becomes_an_administrator(site, backend, tmp_path):
    ann, bo = site.user(confirmed=True), site.user("bo@example.com")
    services, cause = site.app.registry["authsite"], Cause("command")
    with site.db() as db:
        ctx = acting(db, services)
        service.create(ctx, "ops", GroupValues("Operations"), cause)
        service.create(ctx, "old", GroupValues("Old"), cause).scopes = "gone"
        for name in ("ops", "old"):
            members.add(ctx, name, ann.id, cause)
        members.add(ctx, "ops", bo.id, cause)
        administrators.grant(ctx, db.get(User, ann.id), "owner", cause)
    path, report = tmp_path / "authsite.jsonl", tmp_path / "report.jsonl"
    ini = write_ini(tmp_path / "from.ini", site.url)
    done = CliRunner().invoke(authsite, ["export", "--output", str(path), "--config", ini])
    assert done.exit_code == 0, done.output
    lines = [json.loads(line) for line in path.read_text().splitlines()]
    for line in lines:  # another user of this id is there already
        if line["type"] == "user" and line["id"] == str(bo.id):
            line["created_at"] = "2001-01-01T00:00:00Z"
    other = databases.migrated(databases.new_url(backend, tmp_path, "other_groups"))
    imported(other, path, tmp_path)
    with Session((database := open_database(other)).transactional) as db:
        assert [(each.name, each.title) for each in db.scalars(select(Group))] == [
            ("ops", "Operations")
        ]
        found = db.scalars(select(GroupMember).order_by(GroupMember.user_id)).all()
        assert {(each.user_id, each.group_name) for each in found} == {
            (ann.id, "ops"), (bo.id, "ops"),
        }  # fmt: skip
        assert db.get(User, ann.id).labels == "ops"
        db.execute(delete(GroupMember).where(GroupMember.user_id == bo.id))
        db.commit()
    path.write_text("\n".join(map(json.dumps, lines)))
    for more in (["--dry-run"], []):
        done = imported(other, path, tmp_path, "--report", str(report), *more)
        assert done["groups"] == {"imported": 0, "present": 1, "refused": 1}
        assert done["memberships"] == {"imported": 0, "present": 1, "refused": 3}
        reasons = report.read_text()
        for text in ("authsite admin grant", "marks with [groups]", "who was not imported"):
            assert text in reasons
    database.dispose()
    empty = databases.migrated(databases.new_url(backend, tmp_path, "empty_groups"))
    done = imported(empty, path, tmp_path, "--dry-run")
    assert done["memberships"] == {"imported": 2, "present": 0, "refused": 2}
    database = open_database(empty)
    with Session(database.transactional) as db:
        assert db.scalars(select(Group)).all() == []
    database.dispose()


@pytest.mark.parametrize("backend", ["sqlite"], indirect=True)
@pytest.mark.parametrize("key", ["scope", "default_scope"])
def test_a_client_with_a_scope_of_administrators_is_refused(export, tmp_path, key):
    site, path, _ = export
    databases.empty(site.database)
    lines = [json.loads(line) for line in path.read_text().splitlines()]
    [client] = [line for line in lines if line["type"] == "client" and line["scope"]]
    client[key] += " admin:users:read"
    path.write_text("\n".join(map(json.dumps, lines)))
    report = tmp_path / "report.jsonl"
    done = imported(site.url, path, tmp_path, "--report", str(report))
    assert done["clients"] == {"imported": 1, "present": 0, "refused": 1}
    assert "authsite client update" in report.read_text()


@pytest.mark.parametrize("backend", ["sqlite"], indirect=True)
def test_what_is_no_whole_export_or_has_another_pepper_is_refused(export, tmp_path):
    site, path, _ = export
    databases.empty(site.database)
    done = imported(site.url, path, tmp_path, **{"password-pepper": PEPPER[::-1]})
    assert done["users"] == {"imported": 1, "present": 0, "refused": 1}
    lines = path.read_text().splitlines()
    cut = tmp_path / "cut.jsonl"
    for text, advice in (
        ("\n".join(lines[:-1]), "is incomplete"),
        ("\n".join(lines[1:]), "is not a file of"),
        ("", "is not a file of"),
    ):
        cut.write_text(text)
        assert advice in imported(site.url, cut, tmp_path, status=1)
    cut.write_text("\n".join([lines[0], "no JSON", *lines[1:]]))
    assert imported(site.url, cut, tmp_path)["users"]["refused"] == 1
