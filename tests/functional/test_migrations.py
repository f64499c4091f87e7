"""The migrations: up, down and up again, and never another schema than the models say."""

import re

import pytest
from alembic.autogenerate import compare_metadata
from alembic.migration import MigrationContext
from sqlalchemy import inspect, text

from authsite.db import migrate, open_database
from authsite.db.base import Base
from tests.support.servers import authsite, write_ini
from tests.support.together import together

NAMES = {
    "primary": re.compile(r"pk_{table}"),
    "index": re.compile(r"ix_{table}_\w+"),
    "unique": re.compile(r"uq_{table}_\w+"),
    "check": re.compile(r"ck_{table}_\w+"),
    "foreign": re.compile(r"fk_{table}_\w+"),
}


@pytest.fixture
def database(fresh_url):
    """A database without a schema."""
    made = open_database(fresh_url)
    yield made
    made.dispose()


def tables(database):
    return set(inspect(database.reader).get_table_names()) - {"alembic_version"}


def differences(database):
    """What Alembic would have to do to make the schema that of the models."""
    with database.reader.connect() as connection:
        context = MigrationContext.configure(connection, opts={"compare_server_default": True})
        return compare_metadata(context, Base.metadata)


def test_an_empty_database_has_no_revision(database):
    assert migrate.current(database) is None


def test_up_gives_the_schema_of_the_models(database):
    migrate.upgrade(database)
    assert migrate.current(database) == migrate.head()
    assert tables(database) == set(Base.metadata.tables)
    assert differences(database) == []


def test_down_takes_everything_away_and_up_brings_it_back(database):
    migrate.upgrade(database)
    migrate.downgrade(database, "base")
    assert tables(database) == set()
    assert migrate.current(database) is None
    migrate.upgrade(database)
    assert tables(database) == set(Base.metadata.tables)
    assert differences(database) == []


def test_each_step_goes_down_and_up_again(database):
    from alembic.config import Config
    from alembic.script import ScriptDirectory

    config = Config()
    config.set_main_option("script_location", str(migrate.folder()))
    newest_first = [step.revision for step in ScriptDirectory.from_config(config).walk_revisions()]
    assert newest_first[0] == migrate.head()
    migrate.upgrade(database)
    for revision, below in zip(newest_first, [*newest_first[1:], "base"], strict=True):
        migrate.downgrade(database, below)
        migrate.upgrade(database, revision)
        assert migrate.current(database) == revision
        migrate.downgrade(database, below)
    assert tables(database) == set()


def test_up_on_a_current_schema_changes_nothing(database):
    migrate.upgrade(database)
    with database.writer.begin() as connection:
        connection.execute(text("INSERT INTO audit_events (at, event) VALUES ('2031-01-01', 'x')"))
    migrate.upgrade(database)
    with database.reader.connect() as connection:
        assert connection.scalar(text("SELECT count(*) FROM audit_events")) == 1


def test_a_migration_keeps_the_rows_of_the_one_before(database):
    migrate.upgrade(database, "0001")
    with database.writer.begin() as connection:
        connection.execute(
            text(
                "INSERT INTO clients (id, name, type, secret_hash, scope, default_scope, epoch,"
                " created_at, updated_at) VALUES ('6f9619ff8b864d01b42d00cf4fc964ff', 'n',"
                " 'password', 'h', '', '', 0, '2031-01-01 00:00:00', '2031-01-01 00:00:00')"
            )
        )
    migrate.upgrade(database)
    with database.reader.connect() as connection:
        assert connection.scalar(text("SELECT name FROM clients")) == "n"


def test_every_constraint_and_index_has_a_name_by_the_convention(database):
    migrate.upgrade(database)
    found = inspect(database.reader)
    wrong = []
    for table in tables(database):
        named = [("primary", found.get_pk_constraint(table)["name"])]
        named += [("index", item["name"]) for item in found.get_indexes(table)]
        named += [("unique", item["name"]) for item in found.get_unique_constraints(table)]
        named += [("check", item["name"]) for item in found.get_check_constraints(table)]
        named += [("foreign", item["name"]) for item in found.get_foreign_keys(table)]
        for kind, name in named:
            pattern = NAMES[kind].pattern.replace("{table}", table)
            if name is None or not re.fullmatch(f"{pattern}|uq_{table}_.+", name):
                wrong.append((table, kind, name))
    assert wrong == []


@pytest.mark.slow
def test_migrators_that_come_at_once_wait_for_one_another(database, fresh_url, tmp_path):
    ini = write_ini(tmp_path, fresh_url)
    done = together(*[lambda: authsite("db", "upgrade", ini=ini)] * 3)
    assert [(one.returncode, one.stderr) for one in done] == [(0, "")] * 3
    assert migrate.current(database) == migrate.head()
    assert differences(database) == []


def test_the_head_read_off_the_files_is_the_one_alembic_knows():
    from alembic.config import Config
    from alembic.script import ScriptDirectory

    config = Config()
    config.set_main_option("script_location", str(migrate.folder()))
    assert ScriptDirectory.from_config(config).get_heads() == [migrate.head()]


def test_a_failed_migration_leaves_the_schema_as_it_was(database, monkeypatch):
    with database.writer.begin() as connection:
        connection.execute(text("CREATE TABLE users (id INTEGER)"))
    with pytest.raises(Exception, match="already exists"):
        migrate.upgrade(database)
    assert tables(database) == {"users"}
    assert migrate.current(database) is None
