"""Features that an older version would overlook: who may use them, and who may not start."""

import pytest
from pyramid.config import Configurator
from sqlalchemy import text

from authsite import main
from authsite.platform.db import migrate, open_database
from authsite.platform.installation.features import (
    FEATURES,
    FeatureNotOpen,
    UnknownFeatures,
    is_open,
    unknown,
    use,
)
from tests.support import newer
from tests.support.acting import acting
from tests.support.servers import authsite, free_port, write_ini
from tests.support.site import SECRET, Site
from tests.support.together import together

NAME = "example"


@pytest.fixture(autouse=True)
def known(monkeypatch, tmp_path):
    """A migration after the first one, and a feature that came with it, as a package adds one."""
    monkeypatch.setitem(FEATURES, NAME, newer.REVISION)
    with newer.known(tmp_path):
        yield


@pytest.fixture
def first(fresh_url):
    """A database that the version before has made."""
    database = open_database(fresh_url)
    migrate.upgrade(database, newer.BEFORE)
    yield database
    database.dispose()


@pytest.fixture
def upgraded(first, fresh_url):
    """A site whose database the version before has made, and this one has upgraded."""
    migrate.upgrade(first)
    site = Site(fresh_url)
    yield site
    site.database.dispose()


@pytest.fixture
def new(fresh_url):
    """A site on a new database."""
    database = open_database(fresh_url)
    migrate.upgrade(database)
    database.dispose()
    site = Site(fresh_url)
    yield site
    site.database.dispose()


def used(site):
    with site.database.autocommit.connect() as connection:
        return connection.execute(text("SELECT name FROM used_features")).scalars().all()


def use_once(site):
    with site.db() as db:
        use(acting(db, services=site.app.registry["authsite"]), NAME)


def add(site, name):
    with site.database.transactional.begin() as connection:
        connection.execute(text("INSERT INTO used_features (name) VALUES (:name)"), {"name": name})


def test_on_a_new_database_a_feature_is_open_at_once_and_its_first_use_is_recorded(new):
    assert is_open(new.app.registry["authsite"], NAME)
    assert used(new) == []
    for _ in range(2):
        use_once(new)
    assert used(new) == [NAME]
    assert unknown(new.database) == []


def test_the_name_is_written_in_the_transaction_of_the_use(new):
    with new.db() as db:
        use(acting(db, services=new.app.registry["authsite"]), NAME)
        db.rollback()  # the use fails
    assert used(new) == []


def test_two_first_uses_at_the_same_moment_both_succeed(new):
    together(lambda: use_once(new), lambda: use_once(new))
    assert used(new) == [NAME]


def test_on_an_upgraded_one_it_is_not_yet_open_and_the_command_opens_it(upgraded, tmp_path):
    services = upgraded.app.registry["authsite"]
    with pytest.raises(FeatureNotOpen, match="authsite db upgrade --finish"):
        use_once(upgraded)
    assert used(upgraded) == []
    ini = write_ini(tmp_path, upgraded.url)
    again = authsite("db", "upgrade", ini=ini)
    assert "authsite db upgrade --finish" in again.stdout
    assert not is_open(services, NAME)
    for _ in range(2):
        done = authsite("db", "upgrade", "--finish", ini=ini)
        assert (done.returncode, done.stderr) == (0, "")
        assert "finished" in done.stdout
    assert is_open(services, NAME)  # without a restart
    use_once(upgraded)
    assert used(upgraded) == [NAME]


def test_a_process_that_starts_before_the_upgrade_does_not_take_the_database_for_a_new_one(
    first, fresh_url
):
    early = Site(fresh_url)
    services = early.app.registry["authsite"]
    assert not is_open(services, NAME)
    migrate.upgrade(first)
    assert not is_open(services, NAME)
    with first.transactional.begin() as connection:
        migrate.finish(connection)
    assert is_open(services, NAME)
    early.database.dispose()


def test_what_the_former_version_knows_is_open_during_an_upgrade(upgraded, monkeypatch):
    former = migrate.former_revision(upgraded.database)
    assert former == newer.BEFORE
    monkeypatch.setitem(FEATURES, NAME, former)
    assert is_open(upgraded.app.registry["authsite"], NAME)


def test_a_second_upgrade_before_the_first_is_finished_still_waits_for_the_oldest_process(
    upgraded,
):
    with upgraded.database.transactional.begin() as connection:
        migrate.begin(connection, "9999")
    assert not is_open(upgraded.app.registry["authsite"], NAME)


def test_of_two_processes_that_migrate_a_new_database_neither_takes_it_for_an_upgraded_one(
    fresh_url,
):
    both = [open_database(fresh_url) for _ in range(2)]
    together(*(lambda database=each: migrate.upgrade(database) for each in both))
    assert [migrate.former_revision(each) for each in both] == [None, None]
    for each in both:
        each.dispose()


def test_every_feature_came_with_a_migration_after_the_first():
    revisions = {step.revision for step in newer.steps()}
    assert set(FEATURES.values()) <= revisions - {"0001"}


def test_a_process_that_does_not_know_a_used_feature_is_not_ready_and_goes_on(new):
    add(new, NAME)
    new.app.registry["authsite.monitoring"].health.forget()
    assert new.http.get("/readyz").json["problems"] == []
    add(new, "of-the-future")
    new.app.registry["authsite.monitoring"].health.forget()
    answer = new.http.get("/readyz", status=503)
    assert answer.json["problems"] == ["unknown feature: of-the-future"]
    assert new.http.get("/healthz").status_int == 200
    new.user()
    assert new.http.get("/login").status_int == 200


def test_nor_does_it_start(new, tmp_path):
    add(new, "of-the-future")
    ini = write_ini(tmp_path, new.url)
    done = authsite("serve", "--port", free_port(), ini=ini)
    assert done.returncode == 1
    assert "of-the-future" in done.stderr
    assert "newer" in done.stderr
    assert "Traceback" not in done.stderr
    settings = {"authsite.secret": SECRET, "authsite.database-url": new.url}
    with pytest.raises(UnknownFeatures, match="of-the-future"):
        main({}, **settings)
    host = Configurator(settings=settings)
    host.include("authsite")
    with pytest.raises(UnknownFeatures, match="of-the-future"):
        host.make_wsgi_app()
    commands = authsite("user", "list", ini=ini)
    assert (commands.returncode, commands.stderr) == (0, "")
