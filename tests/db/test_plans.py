"""No request reads a table from end to end: each finds its rows by an index, on both databases."""

import pytest
from sqlalchemy import inspect, text

from authsite.platform.db.base import Base
from tests.support import databases
from tests.support.plans import GROWING, fill, recorded, scans
from tests.support.site import Site
from tests.support.walk import SETTINGS, views, walk, walked
from tests.support.walk_admin import WALKED, administration


@pytest.fixture
def site(fresh_url):
    """A site on a separate database, which is filled here."""
    made = Site(databases.migrated(fresh_url), base_url="http://localhost", **SETTINGS)
    yield made
    made.database.dispose()


def test_every_statement_of_every_request_is_answered_by_an_index(site):
    keys = site.first_party("web")
    with walked(site) as seen, recorded(site.database) as statements:
        walk(site, keys)
    assert views(site) - seen == set()
    assert len(statements) > 50
    fill(site.database)
    found = {sql: scans(site.database, sql, values) for sql, values in statements.items()}
    assert {sql: tables for sql, tables in found.items() if tables} == {}


SCANS = (
    "SELECT * FROM families WHERE scope = 'a'",
    "SELECT id FROM users ORDER BY id LIMIT 5",
    "SELECT * FROM families JOIN users ON users.id = families.user_id",
    "UPDATE web_sessions SET remember = true WHERE address = 'x'",
    "DELETE FROM outbox WHERE state = 'sent'",
    "SELECT count(*) FROM audit_events",
)


# As SQLAlchemy writes them, and as prepared queries do.
WITH_PARAMETERS = {
    "sqlite": [
        ("SELECT id FROM families WHERE scope = ?", ["families"]),
        ("SELECT kind FROM login_names WHERE key = ?", []),
    ],
    "postgresql": [
        ("SELECT id FROM families WHERE scope = %s", ["families"]),
        ("SELECT id FROM families WHERE scope = $1::VARCHAR", ["families"]),
        ("SELECT kind FROM login_names WHERE key = $1::VARCHAR", []),
    ],
}


def test_a_scan_would_be_seen(site, backend):
    fill(site.database)
    assert [each for each in SCANS if not scans(site.database, each, ())] == []
    for statement, scanned in WITH_PARAMETERS[backend]:
        assert scans(site.database, statement, ["a"]) == scanned


def test_no_table_is_left_out(site):
    small = {
        "clients", "client_uris", "groups", "group_changes", "heartbeats", "installation_records",
        "resources",
        "signing_keys", "used_features",
    }  # fmt: skip
    assert {*Base.metadata.tables} == GROWING | small


def test_what_goes_with_a_user_is_found_by_an_index(site):
    """The rows that ON DELETE CASCADE takes along stand in no plan."""
    found, missing, keys = inspect(site.database.autocommit), [], 0
    for table in GROWING:
        firsts = [index["column_names"][0] for index in found.get_indexes(table) if usable(index)]
        # SQLite does not list the index of a unique column among these.
        firsts += [each["column_names"][0] for each in found.get_unique_constraints(table)]
        firsts.append(found.get_pk_constraint(table)["constrained_columns"][0])
        for key in found.get_foreign_keys(table):
            if key["referred_table"] in GROWING:
                keys += 1
                missing += [table] if key["constrained_columns"][0] not in firsts else []
    assert keys == 16
    assert missing == []


def usable(index):
    """Whether all rows that refer to another one are in the index, also in a partial one."""
    first, options = index["column_names"][0], index["dialect_options"]
    condition = options.get("sqlite_where", options.get("postgresql_where"))
    return condition is None or str(condition).strip("()") == f"{first} IS NOT NULL"


def test_no_index_has_a_column_that_a_refresh_changes(site):
    changed = {"rotated_at", "used_at", "generation", "refresh_expires_at", "scope", "rescoped"}
    with site.database.autocommit.connect() as connection:
        indexes = inspect(connection).get_indexes("families")
        if connection.dialect.name == "postgresql":  # an index over an expression, too
            query = "SELECT indexdef FROM pg_indexes WHERE tablename = 'families'"
        else:
            query = (
                "SELECT sql FROM sqlite_master WHERE tbl_name = 'families' AND type = 'index'"
                " AND sql IS NOT NULL"
            )
        words = connection.scalars(text(query)).all()
    assert indexes
    assert [word for word in words if any(name in word for name in changed)] == []


KNOWN = (
    # The walk's own statements.
    "SELECT users.id, users.second_factor_at", "UPDATE users SET second_factor_at",
    "UPDATE web_sessions SET", "UPDATE families SET scope", "SELECT audit_events.request_id",
    "outbox.letter =",
    # Filters that no index has: along the times, 20,000 events at most.
    "ORDER BY audit_events.at DESC",
    # A trail of up to 20,000 events is verified at once.
    "FROM audit_events \n LIMIT", "min(audit_events.id)",
    # A row for each minute.
    "FROM audit_seals",
    # Mails of some days, and open invitations.
    "outbox.state =", "FROM invitations",
    # Beginnings of login names: here a part of few rows.
    "FROM login_names AS login_names_1",
)  # fmt: skip
"""Parts of the statements that read more than an index points to, and may."""


def _is_known(sql):
    return any(each in sql for each in KNOWN)


@pytest.fixture
def administered(fresh_url):
    """A site with console and API for administrators, on a separate database."""
    made = Site(databases.migrated(fresh_url), **WALKED)
    yield made
    made.database.dispose()


@pytest.mark.parametrize("backend", ["postgresql"], indirect=True)
def test_administration_reads_no_table_from_end_to_end(administered, backend):
    """Lists read the newest rows of an index, as many as they show."""
    site = administered
    with recorded(site.database) as statements:
        administration(site)
    fill(site.database)
    found = {
        sql: scans(site.database, sql, values, limited=True) for sql, values in statements.items()
    }
    assert len(found) > 200
    scanned = {sql: tables for sql, tables in found.items() if tables}
    assert {sql: tables for sql, tables in scanned.items() if not _is_known(sql)} == {}
    assert [each for each in KNOWN if not any(each in sql for sql in scanned)] == []
