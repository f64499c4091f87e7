"""The migrations: up, down and up again, and never another schema than the models say."""

import re
from contextlib import nullcontext

import pytest
from alembic.autogenerate import compare_metadata
from alembic.migration import MigrationContext
from pyramid.config import Configurator
from sqlalchemy import MetaData, Table, inspect, text

from authsite import main
from authsite.models import METADATA
from authsite.platform.db import migrate, open_database
from tests.support import newer
from tests.support.servers import authsite, free_port, write_ini
from tests.support.site import SECRET
from tests.support.together import together

NAMES = {
    "primary": re.compile(r"pk_{table}"),
    "index": re.compile(r"ix_{table}_\w+"),
    "unique": re.compile(r"uq_{table}_\w+"),
    "check": re.compile(r"ck_{table}_\w+"),
    "foreign": re.compile(r"fk_{table}_\w+"),
}


def tables(database):
    return set(inspect(database.autocommit).get_table_names()) - {migrate.VERSION_TABLE}


def differences(database):
    """What Alembic would have to do to make the schema that of the models."""
    with database.autocommit.connect() as connection:
        options = {"compare_server_default": True, "version_table": migrate.VERSION_TABLE}
        context = MigrationContext.configure(connection, opts=options)
        return compare_metadata(context, METADATA)


def test_an_empty_database_has_no_revision(database):
    assert migrate.current(database) is None


def test_a_schema_is_missing_behind_current_or_newer_and_a_newer_one_is_usable(database, tmp_path):
    newest = migrate.head()
    assert migrate.state(database) == ("missing", None, newest)
    migrate.upgrade(database)
    assert migrate.state(database) == ("current", newest, newest)
    assert migrate.state(database).usable
    with newer.known(tmp_path):
        assert migrate.state(database) == ("behind", newest, newer.REVISION)
        assert not migrate.state(database).usable
        migrate.upgrade(database)
        assert migrate.state(database) == ("current", newer.REVISION, newer.REVISION)
    assert migrate.state(database) == ("newer", newer.REVISION, newest)
    assert migrate.state(database).usable


def test_a_newer_schema_stays_as_it_is(database, fresh_url, tmp_path):
    with newer.known(tmp_path):
        migrate.upgrade(database)
    done = authsite("db", "upgrade", ini=write_ini(tmp_path, fresh_url))
    assert (done.returncode, done.stderr) == (0, "")
    assert f"{newer.REVISION}, newer than this version" in done.stdout
    assert migrate.current(database) == newer.REVISION


@pytest.mark.parametrize("revision", ["0002", "0033"])
def test_a_database_of_before_the_first_release_is_refused_and_stays_as_it_is(
    database, fresh_url, tmp_path, revision
):
    migrate.upgrade(database)
    set_revision(database, revision)
    assert migrate.state(database) == ("unreleased", revision, migrate.head())
    assert not migrate.state(database).usable
    with pytest.raises(migrate.UnreleasedSchema):
        migrate.upgrade(database)
    ini = write_ini(tmp_path, fresh_url)
    for command in (["db", "upgrade"], ["init"], ["serve", "--port", free_port()], ["doctor"]):
        done = authsite(*command, ini=ini)
        assert done.returncode == 1, command
        said = " ".join((done.stdout + done.stderr).split())
        assert f"the database has the schema {revision}, of a version of authsite before" in said
        assert "authsite export --secrets --output" in said
        assert "authsite import authsite" in said
        assert "Traceback" not in said
    settings = {"authsite.secret": SECRET, "authsite.database-url": fresh_url}
    with pytest.raises(migrate.UnreleasedSchema, match=revision):
        main({}, **settings)
    host = Configurator(settings=settings)
    host.include("authsite")
    with pytest.raises(migrate.UnreleasedSchema, match=revision):
        host.make_wsgi_app()
    assert migrate.current(database) == revision


def set_revision(database, revision):
    with database.transactional.begin() as connection:
        table = Table(migrate.VERSION_TABLE, MetaData(), autoload_with=connection)
        connection.execute(table.update().values(version_num=revision))


def test_revisions_ascend_and_none_is_one_of_before_the_first_release():
    """A feature compares them (`platform.installation.features`)."""
    revisions = [step.revision for step in newer.steps()]
    assert revisions == sorted(revisions)
    assert migrate.UNRELEASED.isdisjoint(revisions)


def test_up_gives_the_schema_of_the_models(database):
    migrate.upgrade(database)
    assert migrate.current(database) == migrate.head()
    assert tables(database) == set(METADATA.tables)
    assert differences(database) == []


def test_down_takes_everything_away_and_up_brings_it_back(database):
    migrate.upgrade(database)
    migrate.downgrade(database, "base")
    assert tables(database) == set()
    assert migrate.current(database) is None
    migrate.upgrade(database)
    assert tables(database) == set(METADATA.tables)
    assert differences(database) == []


@pytest.mark.parametrize("sources", [(newer.EXPAND,), ()])
def test_each_step_goes_down_and_up_again(database, tmp_path, sources):
    with newer.known(tmp_path) if sources else nullcontext():
        newest_first = [step.revision for step in newer.steps()][::-1]
        migrate.upgrade(database)
        for revision, below in zip(newest_first, [*newest_first[1:], "base"], strict=True):
            migrate.downgrade(database, below)
            migrate.upgrade(database, revision)
            assert migrate.current(database) == revision
            migrate.downgrade(database, below)
    assert tables(database) == set()


def test_up_on_a_current_schema_changes_nothing(database):
    migrate.upgrade(database)
    with database.transactional.begin() as connection:
        connection.execute(text("INSERT INTO audit_events (at, event) VALUES ('2031-01-01', 'x')"))
    migrate.upgrade(database)
    with database.autocommit.connect() as connection:
        assert connection.scalar(text("SELECT count(*) FROM audit_events")) == 1


def test_a_migration_keeps_the_rows_of_the_one_before(database, tmp_path):
    migrate.upgrade(database)
    with database.transactional.begin() as connection:
        connection.execute(
            text(
                "INSERT INTO clients (id, name, type, secret_hash, scope, default_scope, epoch,"
                " created_at, updated_at) VALUES ('6f9619ff8b864d01b42d00cf4fc964ff', 'n',"
                " 'password', 'h', '', '', 0, '2031-01-01 00:00:00', '2031-01-01 00:00:00')"
            )
        )
    with newer.known(tmp_path):
        migrate.upgrade(database)
    with database.autocommit.connect() as connection:
        assert connection.scalar(text("SELECT name FROM clients")) == "n"


def test_every_constraint_and_index_has_a_name_by_the_convention(database):
    migrate.upgrade(database)
    found = inspect(database.autocommit)
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


def test_the_head_read_off_the_files_is_the_one_alembic_knows(tmp_path):
    assert newer.steps()[-1].revision == migrate.head()
    with newer.known(tmp_path, newer.EXPAND, newer.EXPAND):
        assert newer.steps()[-1].revision == migrate.head() == newer.AFTER


def test_a_failed_migration_leaves_the_schema_as_it_was(database):
    with database.transactional.begin() as connection:
        connection.execute(text("CREATE VIEW users AS SELECT 1 AS id"))
    with pytest.raises(Exception, match="already"):
        migrate.upgrade(database)
    assert tables(database) == set()
    assert migrate.current(database) is None


def test_trial_17_tables_of_others_with_our_names_are_named_before_anything_is_changed(
    database, fresh_url, tmp_path
):
    with database.transactional.begin() as connection:
        connection.execute(text("CREATE TABLE users (id INTEGER)"))
    done = authsite("db", "upgrade", ini=write_ini(tmp_path, fresh_url))
    assert (done.returncode, "Traceback" in done.stderr) == (1, False)
    last = done.stderr.splitlines()[-1]
    assert last.startswith("Error: the database has tables named users that authsite did not make")
    message = "tables named users that authsite did not make"
    with pytest.raises(migrate.TableNamesTaken, match=message):
        migrate.upgrade(database)
    assert tables(database) == {"users"}
    assert migrate.current(database) is None


@pytest.mark.parametrize("revision", ["a1b2c3d4e5f6", "0001"])
def test_trial_17_a_database_that_the_hosts_alembic_manages_keeps_its_version(database, revision):
    host = "version_num FROM alembic_version"
    with database.transactional.begin() as connection:
        connection.execute(text("CREATE TABLE alembic_version (version_num VARCHAR(32) NOT NULL)"))
        connection.execute(
            text("INSERT INTO alembic_version VALUES (:version)"), {"version": revision}
        )
        connection.execute(text("CREATE TABLE orders (id INTEGER)"))
    assert migrate.current(database) is None
    migrate.upgrade(database)
    assert migrate.current(database) == migrate.head()
    assert tables(database) == {*METADATA.tables, "alembic_version", "orders"}
    migrate.downgrade(database, "base")
    assert tables(database) == {"alembic_version", "orders"}
    with database.autocommit.connect() as connection:
        assert connection.scalars(text(f"SELECT {host}")).all() == [revision]


@pytest.mark.parametrize("backend", ["postgresql"], indirect=True)  # SQLite has no schemas
def test_trial_17_a_schema_of_its_own_beside_the_hosts_tables(database, fresh_url):
    with database.transactional.begin() as connection:
        connection.execute(text("CREATE TABLE users (id INTEGER)"))
        connection.execute(text("CREATE SCHEMA auth"))
    url = f"{fresh_url}{'&' if '?' in fresh_url else '?'}options=-csearch_path%3Dauth"
    ours = open_database(url)
    try:
        migrate.upgrade(ours)
        assert migrate.current(ours) == migrate.head()
        with ours.autocommit.connect() as connection:
            assert connection.scalar(text("SHOW statement_timeout")) == "3s"
            assert connection.scalar(text("SELECT current_schema()")) == "auth"
        assert set(inspect(ours.autocommit).get_table_names("public")) == {"users"}
    finally:
        ours.dispose()
