"""A row with a fault is reported with its reason, and the other rows are imported."""

from datetime import timedelta
from functools import partial
from itertools import product

import pytest
from sqlalchemy import Engine, event, select

from authsite.platform.runtime import clock
from authsite.transfer.importing import clients, own, passport, sources, users
from authsite.transfer.importing import run as running
from authsite.transfer.importing.report import Report
from authsite.transfer.importing.rows import Row
from authsite.users.models import FormerAddress, User
from tests.importing.csv_rows import GOOD, good, write_csv
from tests.support import foreign_systems as other
from tests.support.acting import acting

# The field that the report names, and what makes the row bad.
FAULTS = [
    ("email", {"email": ""}),
    ("email", {"email": "no address"}),
    ("email", {"email": "a" * 250 + "@example.com"}),
    ("email", {"email": "ann\n@example.com"}),
    ("email", {"email": "\u212aelvin@example.com"}),
    ("email", {"email": "GOOD0@Example.COM"}),
    ("email", {"email": "taken@example.com"}),
    ("email", {"email": "former@example.com"}),
    ("name", {"name": "two\nlines"}),
    ("name", {"name": "nul\0"}),
    ("name", {"name": "x" * 1025}),
    ("password", {"password_hash": "plain text"}),
    ("password", {"password_hash": "5f4dcc3b5aa765d61d8327deb882cf99"}),
    ("password", {"password_hash": "$2y$15$" + "a" * 21 + "u" + "b" * 31}),
    ("password", {"password_hash": "pbkdf2_sha256$9000000$salt$" + "a" * 43 + "="}),
    ("password", {"password_hash": f"$argon2id$v=19$m=64,t=2,p=1${'A' * 86}${'A' * 86}"}),
    ("password", {"password_hash": f"pbkdf2_sha256$1000$nul\0${'A' * 43}="}),
    ("confirmed", {"confirmed": "perhaps"}),
    ("disabled", {"disabled": "2"}),
    ("created_at", {"created_at": "yesterday"}),
    ("created_at", {"created_at": "2024-02-30"}),
    ("created_at", {"created_at": "0001-01-01 00:00:00+14:00"}),
    ("id", {"id": "x" * 256}),
    ("id", {"id": "tab\tid"}),
    ("id", {"id": "good0", "created_at": "2020-01-01"}),
]


@pytest.fixture
def batches_of(monkeypatch):
    """Set the size of a batch, so that few rows are several transactions."""
    return lambda size: monkeypatch.setattr(running, "ROWS", size)


@pytest.mark.parametrize("size", [1, 7, 1000])
def test_every_kind_of_fault_is_reported_and_all_good_rows_are_imported(
    site, importing, tmp_path, batches_of, size
):
    batches_of(size)
    holder = site.user("taken@example.com")
    with site.db() as db:
        db.add(
            FormerAddress(
                id=holder.id, user_id=holder.id, key="former@example.com",
                email="former@example.com", epoch=0, expires_at=clock.now() + timedelta(days=1),
            )
        )  # fmt: skip
    rows, expected = [good("good0")], []
    for number, (field, fault) in enumerate(FAULTS):
        rows += [{**good(f"bad{number}"), **fault}, good(f"good{number + 1}")]
        expected.append(field)
    path = write_csv(tmp_path / "users.csv", rows)
    with path.open("ab") as file:
        file.write(b"latin,\xe9@example.com,,,,,\nname,name@example.com,\xe9,,,,\n")
        file.write(b"few,few@example.com\n" + b"many,many@example.com,,,,,,,,,\n\n")
        file.write(b"last,last@example.com,,,,,\n")
    for dry in (["--dry-run"], []):
        done = importing("csv", path, *dry)
        assert [row["field"] for row in done["rows"]] == [*expected, "email", "name", None, None]
        assert all(row["reason"] for row in done["rows"])
        count = len(FAULTS) + 2
        assert done["users"] == {"imported": count, "present": 0, "refused": len(FAULTS) + 4}
    with site.db() as db:
        emails = set(db.scalars(select(User.email)))
    good_ones = {f"good{number}@example.com" for number in range(len(FAULTS) + 1)}
    assert emails == good_ones | {"taken@example.com", "last@example.com"}


@pytest.mark.parametrize("backend", ["postgresql"], indirect=True)  # which stores no NUL
def test_a_value_that_no_column_holds_costs_only_its_own_row(site):
    wrong = ["\udcff", "nul\0", "x" * 3000, b"\xff\0", 7.5, ["deep"], {"hash": "\0"}]
    user = {
        "id": "1",
        "email": "ann@example.com",
        "username": "ann",
        "password_hash": GOOD["password_hash"],
    }
    of_users = {**user, **dict.fromkeys(("name", "terms_url", "phone", "password"))}
    of_clients = {
        "id": "1", "name": "Shop", "client_type": "password", "scope": "a", "default_scope": "",
        "secrets": [{"hash": "0" * 64}], "secret": "x" * 40, "grant_types": '["password"]',
    }  # fmt: skip
    written = []
    options = passport.ClientOptions({"password": "", "personal": ""})
    for row, write, read in (
        (of_users, users.write, sources.user),
        (of_users, users.write, own.user),
        (of_users, users.write, passport.user),
        (of_clients, clients.write, own.client),
        (of_clients, clients.write, partial(passport.client, options)),
    ):
        of_users_ = write is users.write
        rules = users.Rules(site.cfg, "x", read) if of_users_ else clients.Rules("x", read, 4)
        moments = dict.fromkeys(("created_at", "updated_at", "email_verified_at", "disabled_at"))
        rows = [
            Row(number, {**row, **moments, field: value}, number)
            for number, (field, value) in enumerate(product({**row, **moments}, wrong), 1)
        ]
        with site.db() as db:
            outcomes = write(acting(db), rules, rows)
            db.rollback()
        written.append(len(outcomes) == len(rows))
    assert written == [True] * 5


@pytest.mark.parametrize("backend", ["sqlite"], indirect=True)
def test_an_error_that_no_check_foresees_costs_only_its_own_row(site):
    def read(row):
        if row["id"] == "1":
            raise UnicodeError("of a library")
        return sources.user(row)

    rows = [Row(n, {"id": str(n), "email": f"u{n}@example.com"}, n) for n in (1, 2)]
    with site.db() as db:
        outcomes = users.write(acting(db), users.Rules(site.cfg, "x", read), rows)
    assert [each.result for each in outcomes] == ["refused", "imported"]
    assert "UnicodeError" in outcomes[0].reason


@pytest.mark.parametrize("backend", ["sqlite"], indirect=True)
def test_the_same_fault_of_many_rows_is_one_line_of_the_summary(site, tmp_path):
    passports = passport.ClientOptions({"password": "", "personal": ""})
    of_users = users.Rules(site.cfg, "x", sources.user)
    of_clients = clients.Rules("x", partial(passport.client, passports), 4)
    later = {"created_at": "2022-01-01 00:00:00"}
    for write, rules, made in (
        (users.write, of_users, lambda n: good(f"u{n}")),
        (clients.write, of_clients, lambda n: other.client(n, secret="x" * 40, redirect="")),
    ):
        report = Report("x", None, None)
        for more in ({}, later):
            rows = [Row(n, made(n) | more, n) for n in range(1, 4)]
            with site.db() as db:
                report.add(write(acting(db), rules, rows))
        first, *reasons = report.lines()
        assert "3 imported, 0 imported before, 3 not imported" in first
        assert len(reasons) == 1
        assert reasons[0].split()[0] == "3"


@pytest.mark.parametrize("backend", ["postgresql"], indirect=True)  # SQLite has one writer
def test_a_name_that_is_taken_while_a_batch_is_written_costs_only_its_own_row(
    site, importing, tmp_path
):
    inserts = []

    def register_before(_connection, _cursor, statement, *_more):
        if statement.startswith("INSERT INTO login_names"):
            inserts.append(statement)
            if len(inserts) == 1:
                site.user("good1@example.com")

    path = write_csv(tmp_path / "users.csv", [good(f"good{number}") for number in range(3)])
    event.listen(Engine, "before_cursor_execute", register_before)
    try:
        done = importing("csv", path)
    finally:
        event.remove(Engine, "before_cursor_execute", register_before)
    assert len(inserts) == 3  # the batch, the registration, and the batch again
    assert done["users"] == {"imported": 2, "present": 0, "refused": 1}
    assert [(row["row"], row["field"]) for row in done["rows"]] == [(3, "email")]


@pytest.mark.parametrize("backend", ["postgresql"], indirect=True)  # SQLite has one writer
def test_a_name_that_a_change_of_address_reserves_meanwhile_is_not_taken(site, importing, tmp_path):
    holder = site.user("holder@example.com")
    reserved = []

    def reserve_before(_connection, _cursor, statement, *_more):
        if statement.startswith("INSERT INTO login_names") and not reserved:
            reserved.append(statement)
            with site.db() as db:
                db.add(
                    FormerAddress(
                        id=holder.id, user_id=holder.id, key="good1@example.com",
                        email="good1@example.com", epoch=0,
                        expires_at=clock.now() + timedelta(days=1),
                    )
                )  # fmt: skip

    path = write_csv(tmp_path / "users.csv", [good(f"good{number}") for number in range(3)])
    event.listen(Engine, "before_cursor_execute", reserve_before)
    try:
        done = importing("csv", path)
    finally:
        event.remove(Engine, "before_cursor_execute", reserve_before)
    assert done["users"] == {"imported": 2, "present": 0, "refused": 1}
    assert [(row["row"], row["field"]) for row in done["rows"]] == [(3, "email")]
