"""A shop on Laravel Passport moves: passwords, client ids and secrets stay as they are."""

import json
import uuid
from hashlib import sha256, sha512

import pytest
from click.testing import CliRunner
from sqlalchemy import Engine, event, select

from authsite.cli import authsite
from authsite.oauth.clients.authentication import hash_secret
from authsite.oauth.clients.service import rotate_secret
from authsite.oauth.models import Client, ClientUri
from authsite.platform.audit.models import AuditEvent
from authsite.platform.runtime import clock
from authsite.users.models import LoginName, User
from tests.support import databases
from tests.support import foreign_systems as other
from tests.support.acting import acting
from tests.support.site import ClientKeys

ANN, BO = "a password of Ann's", "ü" * 40 + "x"  # the second one has over 72 bytes
SECRETS = {number: f"{number}Q2vZs9WmYtKx4LrJbH7dPfUc3NgEaXo1Ti8BwRy" for number in (2, 3, 4, 5)}
UUID_OF_2 = uuid.UUID(int=2)
UUID = "9c1f6f0e-3b1a-4b57-8f1e-2d7f3f5a9b10"


@pytest.fixture
def dump(tmp_path):
    """A dump of MySQL with two users and clients of every kind."""
    users = [
        other.user(1, name="Ann O'Hara \\ \"Lee\"", email="Ann@Example.com",
                   password=other.php_hash(ANN)),
        other.user(2, email_verified_at=None, password=other.php_hash(BO), created_at=None),
    ]  # fmt: skip
    clients = [
        other.client(1, personal_access_client=1, secret="unused"),
        other.client(2, password_client=1, secret=other.php_hash(SECRETS[2]), name="Shop"),
        other.client(3, password_client=1, secret=SECRETS[3]),
        other.client(4, secret=SECRETS[4], redirect=""),
        other.client(UUID, password_client=1, secret=other.php_hash(SECRETS[5]), revoked=1),
        other.client(6, password_client=1, secret=None),
    ]
    path = tmp_path / "shop.sql"
    tables = {
        "oauth_clients": (other.PASSPORT_CLIENTS, clients),
        "users": (other.PASSPORT_USERS, users),
    }
    path.write_text(other.mysql_dump(**tables), newline="")
    return path


def read(site, statement):
    with site.db() as db:
        return db.execute(statement).all()


def test_old_passwords_and_old_client_ids_work_and_come_out_with_our_hashes(site, importing, dump):
    done = importing("passport", dump)
    assert done["users"] == {"imported": 2, "present": 0, "refused": 0}
    assert done["clients"] == {"imported": 4, "present": 0, "refused": 2}
    assert [(row["source_id"], row["field"]) for row in done["rows"]] == [
        ("1", None), ("6", "secret"),
    ]  # fmt: skip
    before = dict(read(site, select(User.email, User.password_hash)))
    assert {stored[:7] for stored in before.values()} == {"$2y$05$"}
    shop = ClientKeys("2", SECRETS[2])
    for _ in range(2):  # the second time with what the first has upgraded
        tokens = site.login(shop, "ann@example.com", ANN)
        assert site.me(tokens["access_token"]).json["name"] == 'Ann O\'Hara \\ "Lee"'
        site.refresh(shop, tokens["refresh_token"])
    site.login(ClientKeys("3", SECRETS[3]), "user2@example.com", BO)
    site.login(shop, "ann@example.com", ANN.upper(), status=400)
    site.login(ClientKeys("2", SECRETS[3]), "ann@example.com", ANN, status=401)
    site.login(ClientKeys(UUID, SECRETS[5]), "ann@example.com", ANN, status=401)  # revoked
    site.token(ClientKeys("4", SECRETS[4]), grant_type="client_credentials")
    after = dict(read(site, select(User.email, User.password_hash)))
    assert {stored[:7] for stored in after.values()} == {"v1$-$2b"}
    stored = dict(read(site, select(Client.name, Client.secret_hash)))
    assert stored["Shop"] == sha256(SECRETS[2].encode()).hexdigest()
    assert stored[f"Client {UUID}"].startswith("$2y$")


@pytest.mark.parametrize("backend", ["postgresql"], indirect=True)  # SQLite has one writer
def test_a_secret_that_is_rotated_while_the_old_one_is_checked_stays(site, importing, dump):
    importing("passport", dump)
    rotated = []

    def rotate_before(_connection, _cursor, statement, *_rest):
        if statement.startswith("UPDATE clients") and not rotated:
            rotated.append(statement)
            with site.db() as db:
                rotated.append(rotate_secret(acting(db), db.get(Client, UUID_OF_2)))

    event.listen(Engine, "before_cursor_execute", rotate_before)
    try:
        site.login(ClientKeys("2", SECRETS[2]), "ann@example.com", ANN)
    finally:
        event.remove(Engine, "before_cursor_execute", rotate_before)
    for secret in (rotated[1], SECRETS[2]):  # the former one until the next rotation
        site.login(ClientKeys("2", secret), "ann@example.com", ANN)


def test_what_is_known_of_a_user_and_a_client_is_kept_and_the_audit_trail_has_the_source(
    site, importing, dump
):
    importing("passport", dump, "--ids", dump.with_name("ids.csv"))
    with site.db() as db:
        ann, bo = db.scalars(select(User).order_by(User.email)).all()
        names = db.execute(select(LoginName.key, LoginName.user_id)).all()
        clients = {str(each.id): each for each in db.scalars(select(Client))}
        events = db.scalars(select(AuditEvent).order_by(AuditEvent.id)).all()
    assert (ann.email, ann.name) == ("Ann@example.com", 'Ann O\'Hara \\ "Lee"')
    assert clock.rfc3339(ann.created_at) == clock.rfc3339(ann.email_verified_at)
    assert clock.rfc3339(ann.created_at) == "2021-03-04T05:06:07Z"
    assert bo.email_verified_at is None
    assert clock.now() >= bo.created_at > ann.created_at
    assert dict(names) == {"ann@example.com": ann.id, "user2@example.com": bo.id}
    two = clients["00000000-0000-0000-0000-000000000002"]
    assert (two.name, two.type, two.disabled_at) == ("Shop", "password", None)
    assert clients["00000000-0000-0000-0000-000000000004"].type == "personal"
    assert clients[UUID].disabled_at is not None
    details = [(each.event, each.details) for each in events]
    assert details[:2] == [
        ("user.created", {"source": "passport", "source_id": "1"}),
        ("user.created", {"source": "passport", "source_id": "2"}),
    ]
    assert {name for name, _ in details[2:]} == {"client.created"}
    lines = dump.with_name("ids.csv").read_text().splitlines()
    assert lines[:2] == ["table,source_id,id", f"users,1,{ann.id}"]


def test_a_second_import_and_a_dry_run_write_nothing(site, importing, dump):
    dry = importing("passport", dump, "--dry-run")
    assert (dry["users"]["imported"], dry["clients"]["imported"], dry["dry_run"]) == (2, 4, True)
    assert read(site, select(User.id)) == read(site, select(Client.id)) == []
    importing("passport", dump)
    site.login(ClientKeys("2", SECRETS[2]), "ann@example.com", ANN)
    before = [read(site, select(table)) for table in (User.__table__, Client.__table__)]
    events = len(site.events())
    again = importing("passport", dump)
    assert again["users"] == {"imported": 0, "present": 2, "refused": 0}
    assert again["clients"] == {"imported": 0, "present": 4, "refused": 2}
    assert [read(site, select(table)) for table in (User.__table__, Client.__table__)] == before
    assert len(site.events()) == events


def test_clients_of_passport_13_and_scopes(site, importing, tmp_path):
    def client(number, *grants, **more):
        row = other.client(number, secret=SECRETS[2], grant_types=other.grants(*grants))
        return {**row, **more}

    clients = [
        client(UUID, "password", "refresh_token"),
        client(UUID.replace("9c1f", "9c2f"), "client_credentials"),
        client(UUID.replace("9c1f", "9c3f"), "authorization_code", "refresh_token"),
        client(UUID.replace("9c1f", "9c4f"), "personal_access"),
        client(UUID.replace("9c1f", "9c5f"), "password", grant_types="no list"),
        client("web", "password"),
        client(UUID.replace("9c1f", "9c6f"), "password", "client_credentials"),
    ]
    url = other.sqlite_database(
        tmp_path / "shop.sqlite",
        users=(other.PASSPORT_USERS, [other.user(1)]),
        oauth_clients=(other.PASSPORT_13_CLIENTS, clients),
    )
    done = importing("passport", url, scopes="\n  orders:read: Read\n  orders:write: Write")
    assert done["clients"] == {"imported": 3, "present": 0, "refused": 4}
    assert sorted(str(row["field"]) for row in done["rows"]) == [
        "None", "grant_types", "id", "redirect_uris",
    ]  # fmt: skip
    columns = select(Client.type, Client.scope, Client.grant_types).order_by(Client.id)
    assert read(site, columns) == [
        ("password", "orders:read orders:write", None), ("personal", "", None),
        ("password", "orders:read orders:write", "password refresh_token client_credentials"),
    ]  # fmt: skip
    assert "authsite.scopes lacks other" in importing(
        "passport", url, "--client-scope", "other", status=2
    )


def only_clients(folder, *clients):
    """The URL of a database with these clients of an older Passport, and one user."""
    return other.sqlite_database(
        folder / "shop.sqlite",
        users=(other.PASSPORT_USERS, [other.user(1)]),
        oauth_clients=(other.PASSPORT_CLIENTS, clients),
    )


def test_a_hash_is_never_taken_for_a_secret_and_a_secret_never_for_a_hash(
    site, importing, tmp_path
):
    secret = SECRETS[3]
    digest = sha256(secret.encode()).hexdigest()
    hashes = [
        sha512(secret.encode()).hexdigest(), digest[:32], digest[:40], digest[:40].upper(),
        "pbkdf2_sha256$1000$salt$" + "a" * 43 + "=", "argon2$argon2id$v=19$m=64,t=1,p=2$c2Fs$aa",
        "$argon2id$v=19$m=64,t=2,p=1$c2FsdHNhbHRzYWx0c2FsdA$i9FcuMxllg2WDLMH0BJjWA", "short",
        f"{{SHA256}}{digest}",
    ]  # fmt: skip
    url = only_clients(
        tmp_path,
        other.client(1, password_client=1, secret=digest),
        other.client(2, password_client=1, secret=digest.upper()),
        *(other.client(n, password_client=1, secret=each) for n, each in enumerate(hashes, 3)),
    )
    refused = importing("passport", url)["rows"]
    assert [row["field"] for row in refused] == ["secret"] * (len(hashes) + 2)
    assert [row["source_id"] for row in refused if "--client-secrets" in row["reason"]] == [
        "1",
        "2",
    ]
    for option, stored in (
        ("sha256", {"Client 1": digest, "Client 2": digest}),
        ("plain", {"Client 1": hash_secret(digest), "Client 2": hash_secret(digest.upper())}),
    ):
        databases.empty(site.database)
        done = importing("passport", url, "--client-secrets", option)
        assert done["clients"] == {"imported": 2, "present": 0, "refused": len(hashes)}
        assert dict(read(site, select(Client.name, Client.secret_hash))) == stored


def uris_of(site):
    with site.db() as db:
        rows = db.execute(
            select(Client.name, ClientUri.kind, ClientUri.uri)
            .join(ClientUri, ClientUri.client_id == Client.id)
            .order_by(Client.name, ClientUri.position)
        )
        return [tuple(row) for row in rows]


@pytest.mark.parametrize("backend", ["sqlite"], indirect=True)
def test_clients_for_codes_come_with_their_redirect_urls(site, importing, tmp_path):
    web, app = "https://app.example.com/callback", "com.example.app:/callback"
    url = only_clients(
        tmp_path,
        other.client(2, secret=SECRETS[2], redirect=f"{web}, {web}2"),
        other.client(3, secret=SECRETS[3], redirect=""),
        other.client(4, secret=None, redirect=web),
        other.client(5, secret=None, redirect=app),
        other.client(6, secret=SECRETS[4], redirect="http://plain.example.com/callback"),
        other.client(7, password_client=1, secret=SECRETS[5]),  # with http://localhost
    )
    scopes = "\n  orders:read: Read"
    dry = importing("passport", url, "--dry-run", scopes=scopes)
    done = importing("passport", url, scopes=scopes)
    assert dry["clients"] == done["clients"] == {"imported": 5, "present": 0, "refused": 1}
    [refused] = done["rows"]
    assert (refused["source_id"], refused["field"]) == ("6", "redirect")
    assert "http://plain.example.com/callback" in refused["reason"]
    assert read(site, select(Client.type, Client.pkce_optional).order_by(Client.name)) == [
        ("server", True), ("personal", False), ("browser", False), ("native", False),
        ("password", False),
    ]  # fmt: skip
    assert uris_of(site) == [
        ("Client 2", "redirect", web), ("Client 2", "redirect", f"{web}2"),
        ("Client 4", "redirect", web), ("Client 5", "redirect", app),
    ]  # fmt: skip
    events = read(site, select(AuditEvent.details).where(AuditEvent.event == "client.changed"))
    assert {row.details["uri"] for row in events} == {web, f"{web}2", app}


@pytest.mark.parametrize("backend", ["sqlite"], indirect=True)
def test_clients_of_passport_13_have_their_redirect_urls_as_a_list(site, importing, tmp_path):
    web, app = "https://app.example.com/callback", "http://127.0.0.1:8000/callback"
    grants = other.grants("authorization_code", "refresh_token")
    clients = [
        other.client(UUID, secret=other.php_hash(SECRETS[2]), redirect_uris=json.dumps([web])),
        other.client(UUID.replace("9c1f", "9c2f"), redirect_uris=json.dumps([app])),
        other.client(UUID.replace("9c1f", "9c3f"), redirect_uris="no list"),
    ]
    url = other.sqlite_database(
        tmp_path / "shop.sqlite",
        users=(other.PASSPORT_USERS, [other.user(1)]),
        oauth_clients=(
            other.PASSPORT_13_CLIENTS, [{**each, "grant_types": grants} for each in clients]
        ),
    )  # fmt: skip
    done = importing("passport", url)
    assert [row["field"] for row in done["rows"]] == ["redirect_uris"]
    assert read(site, select(Client.type).order_by(Client.id)) == [("server",), ("native",)]
    assert [uri for _name, _kind, uri in uris_of(site)] == [web, app]


@pytest.mark.parametrize("backend", ["sqlite"], indirect=True)
def test_an_old_client_with_a_redirect_url_may_be_for_client_credentials(site, importing, tmp_path):
    url = only_clients(
        tmp_path,
        other.client(2, secret=SECRETS[2], redirect="https://app.example.com/callback"),
        other.client(3, secret=SECRETS[3], redirect=""),
    )
    given = ("--clients-with-redirect", "--client-scope", "orders:read")
    importing("passport", url, *given, scopes="\n  orders:read: Read")
    assert read(site, select(Client.type, Client.scope)) == [("personal", "orders:read")] * 2
    assert uris_of(site) == []


def test_a_numbered_client_is_found_by_its_number(site, importing, dump, tmp_path):
    importing("passport", dump)
    for other_spelling in ("02", "+2", "2 ", "0", "٢", "2.0"):
        site.login(ClientKeys(other_spelling, SECRETS[2]), "ann@example.com", ANN, status=401)
    canonical = "00000000-0000-0000-0000-000000000002"
    for spelling in ("2", canonical):
        site.login(ClientKeys(spelling, SECRETS[2]), "ann@example.com", ANN)
    for command in (["show", "2"], ["rotate-secret", "2"], ["disable", "2"]):
        done = CliRunner().invoke(
            authsite, ["client", *command, "--json", "--config", str(tmp_path / "site.ini")]
        )
        assert done.exit_code == 0, done.output
        assert json.loads(done.stdout)["client_id"] == canonical


def test_a_source_without_clients_says_so(site, importing, tmp_path):
    tables = {"users": (other.PASSPORT_USERS, [other.user(1)])}
    url = other.sqlite_database(tmp_path / "shop.sqlite", **tables)
    assert set(importing("passport", url)) == {"users", "rows", "dry_run"}
    assert "no table people" in importing("passport", url, "--users-table", "people", status=1)
