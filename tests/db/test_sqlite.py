"""Files, locks and foreign keys: what SQLite must be told; the last two hold everywhere."""

import os
import sqlite3
import stat
import time
from concurrent.futures import ThreadPoolExecutor

import pytest
from sqlalchemy import text

from authsite.platform.db import open_database
from tests.support import databases
from tests.support.calls import assert_unavailable, every_call
from tests.support.site import WEB, Site
from tests.support.together import together

SQLITE_ONLY = pytest.mark.parametrize("backend", ["sqlite"], indirect=True)


@pytest.fixture
def site(fresh_url):
    """A site on a separate database, with the web client and Ann."""
    made = Site(databases.migrated(fresh_url), **WEB)
    made.keys = made.first_party("web")
    made.user()
    yield made
    made.database.dispose()


@pytest.mark.control("D04")
def test_only_the_owner_may_read_the_file_and_its_folder(tmp_path):
    mask = os.umask(0)
    try:
        path = tmp_path / "var" / "deeper" / "authsite.sqlite"
        database = open_database(f"sqlite:///{path}")
        with database.transactional.begin() as connection:
            connection.execute(text("CREATE TABLE written (id INTEGER)"))
            modes = {p.name: stat.S_IMODE(p.stat().st_mode) for p in path.parent.iterdir()}
        database.dispose()
    finally:
        os.umask(mask)
    assert modes == dict.fromkeys([path.name + end for end in ("", "-wal", "-shm")], 0o600)
    assert stat.S_IMODE(path.parent.stat().st_mode) == 0o700


@pytest.mark.control("D04")
@SQLITE_ONLY
def test_each_connection_writes_ahead_waits_and_minds_foreign_keys(site):
    for engine in (site.database.transactional, site.database.autocommit):
        with engine.connect() as connection:
            found = {
                name: connection.scalar(text(f"PRAGMA {name}"))
                for name in ("journal_mode", "busy_timeout", "foreign_keys", "secure_delete")
            }
        assert found == {
            "journal_mode": "wal", "busy_timeout": 5000, "foreign_keys": 1, "secure_delete": 1
        }  # fmt: skip


@pytest.mark.control("D04")
@SQLITE_ONLY
def test_a_writer_takes_the_lock_at_once_and_a_reader_takes_none(site):
    with site.database.transactional.connect() as writing:
        writing.execute(text("SELECT count(*) FROM users"))
        impatient = sqlite3.connect(site.url.removeprefix("sqlite:///"), timeout=0)
        with pytest.raises(sqlite3.OperationalError, match="locked"):
            impatient.execute("BEGIN IMMEDIATE")
        impatient.close()
        with site.database.autocommit.connect() as reading:
            assert reading.scalar(text("SELECT count(*) FROM users")) == 1


@pytest.mark.control("D04")
@SQLITE_ONLY
@pytest.mark.slow
def test_a_lock_that_an_outsider_keeps_is_503_and_reading_goes_on(site):
    tokens = site.login(site.keys)
    outsider = open_database(site.url)
    with outsider.transactional.connect() as holding:
        holding.execute(text("SELECT 1"))
        with ThreadPoolExecutor() as pool:
            waiting = pool.submit(every_call(site, tokens)["refresh"])
            while not waiting.done():
                Site.me(site, tokens["access_token"])
                time.sleep(0.02)
            assert_unavailable(waiting.result(), "refresh")
    outsider.dispose()
    site.refresh(site.keys, tokens["refresh_token"])


@pytest.mark.control("D04")
def test_many_writers_at_once_all_get_their_turn(site):
    families = [site.login(site.keys)["refresh_token"] for _ in range(8)]

    def refresh_ten_times(token):
        for _ in range(10):
            token = site.refresh(site.keys, token)["refresh_token"]

    together(*(lambda token=token: refresh_ten_times(token) for token in families))
    assert [family.generation for family in site.families()] == [10] * 8


@pytest.mark.control("D04")
def test_a_row_that_is_pointed_at_takes_its_dependants_along(site):
    site.login(site.keys)
    with site.db() as db:
        db.execute(text("DELETE FROM users"))
    assert site.families() == []
