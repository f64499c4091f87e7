"""Migrations while others use the database, or migrate it at the same time."""

import threading

import pytest
from sqlalchemy import text
from sqlalchemy.exc import IntegrityError

from authsite.platform.db import migrate, open_database
from tests.support import newer

INDEX = '''"""An index of a large table"""

from authsite.platform.db.migrate import create_index

revision = "{revision}"
down_revision = "{down_revision}"


def upgrade() -> None:
    create_index("ix_audit_events_address", "audit_events", ["address"])
'''
INDEX_OF_NEW_COLUMN = '''"""An index of a new column of a large table"""

import sqlalchemy as sa

from authsite.platform.db.migrate import create_index

revision = "{revision}"
down_revision = "{down_revision}"


def upgrade() -> None:
    create_index("ix_families_place", "families", ["place"], sa.Column("place", sa.Uuid()))
'''


@pytest.fixture
def source():
    """The next migration, after the schema of this version."""
    return newer.EXPAND


@pytest.fixture(autouse=True)
def database(database, tmp_path, source):
    """A database of this version, which this process upgrades to a newer one."""
    migrate.upgrade(database)
    with newer.known(
        tmp_path, source, newer.EXPAND.replace("note", "remark").replace("uses", "times")
    ):
        yield database


@pytest.mark.parametrize("backend", ["postgresql"], indirect=True)  # SQLite has no table locks
def test_a_migration_that_a_long_transaction_blocks_is_repeated_and_says_so(database, fresh_url):
    lines, other = [], open_database(fresh_url)

    def tell(line):
        lines.append(line)
        reader.close()  # the long transaction ends once the first attempt has failed

    reader = other.transactional.connect()
    reader.execute(text("SELECT count(*) FROM users"))
    try:
        migrate.upgrade(database, newer.REVISION, tell)
    finally:
        reader.close()
        other.dispose()
    assert lines[0].startswith("another transaction held a lock: trying again, attempt 2")
    assert lines[-1].startswith(f"{newer.REVISION} (A column for users")
    assert migrate.current(database) == newer.REVISION


@pytest.mark.parametrize("source", [INDEX])
@pytest.mark.parametrize("backend", ["postgresql"], indirect=True)  # SQLite has one writer
def test_events_are_recorded_while_their_index_is_made(database, fresh_url):
    insert = text("INSERT INTO audit_events (at, event) VALUES (now(), 'x')")
    valid = text("SELECT indisvalid FROM pg_index WHERE indexrelid = to_regclass(:name)")
    index = {"name": "ix_audit_events_address"}
    with database.autocommit.connect() as connection:  # what a stopped migration leaves
        connection.execute(insert)
        connection.execute(insert)
        connection.execute(text("SET statement_timeout = 0"))
        with pytest.raises(IntegrityError):
            connection.execute(
                text(f"CREATE UNIQUE INDEX CONCURRENTLY {index['name']} ON audit_events (event)")
            )
        assert connection.scalar(valid, index) is False
        connection.detach()
    lines, other = [], open_database(fresh_url)
    migrating = threading.Thread(
        target=migrate.upgrade, args=(database, newer.REVISION, lines.append)
    )
    with other.transactional.connect() as writer:
        writer.execute(insert)
        migrating.start()
        migrating.join(1.5)
        assert migrating.is_alive()  # waits for the writer
        with other.autocommit.connect() as connection:
            connection.execute(insert)
            assert connection.scalar(valid, index) is False
        writer.commit()
    migrating.join()
    assert len(lines) == 1
    with other.autocommit.connect() as connection:
        assert connection.scalar(valid, index) is True
    other.dispose()


@pytest.mark.parametrize("source", [INDEX_OF_NEW_COLUMN])
@pytest.mark.parametrize("backend", ["postgresql"], indirect=True)  # SQLite has one writer
def test_an_index_of_a_new_column_goes_on_after_a_migration_that_was_stopped(database, fresh_url):
    valid = text("SELECT indisvalid FROM pg_index WHERE indexrelid = to_regclass(:name)")
    index = {"name": "ix_families_place"}
    with database.autocommit.connect() as connection:  # what a stopped migration leaves
        connection.execute(text("ALTER TABLE families ADD COLUMN place UUID"))
        connection.execute(
            text(
                "INSERT INTO families (id, owner_kind, user_id, granted_scope, scope,"
                " rescoped, generation, created_at, rotated_at, refresh_expires_at, place)"
                " SELECT gen_random_uuid(), 'client', NULL, '', '', false, 0, now(),"
                " now(), now(), md5('same')::uuid FROM generate_series(1, 2)"
            )
        )
        connection.execute(text("SET statement_timeout = 0"))
        with pytest.raises(IntegrityError):
            connection.execute(
                text(f"CREATE UNIQUE INDEX CONCURRENTLY {index['name']} ON families (place)")
            )
        assert connection.scalar(valid, index) is False
        connection.detach()
    lines, other = [], open_database(fresh_url)
    writer = other.transactional.connect()
    writer.execute(text("UPDATE families SET used_at = now()"))

    def tell(line):
        lines.append(line)
        writer.close()  # requests do not wait for the column longer than for any other

    migrate.upgrade(database, newer.REVISION, tell)
    with other.autocommit.connect() as connection:
        assert connection.scalar(valid, index) is True
        assert connection.scalar(text("SELECT count(*) FROM families")) == 2
    other.dispose()
    assert lines[0].startswith("another transaction held a lock: trying again")
    assert len(lines) == 2


def test_a_second_migrator_waits_and_then_has_nothing_to_do(database, fresh_url):
    lines, other = [], open_database(fresh_url)
    with other.transactional.connect() as first:
        if first.dialect.name == "postgresql":
            first.execute(text(f"SELECT pg_advisory_xact_lock({migrate.LOCK_NUMBER})"))
        else:
            first.execute(text("SELECT 1"))  # the transaction has the write lock

        def tell(line):
            lines.append(line)
            first.rollback()

        migrate.upgrade(database, tell=tell)
    other.dispose()
    assert "trying again" in lines[0]
    assert [line[:4] for line in lines[1:]] == [newer.REVISION, newer.AFTER]
    assert migrate.current(database) == newer.AFTER
