"""Copies of a SQLite database: taken while it is in use, checked, and put into its place."""

import sqlite3
import stat
from contextlib import closing
from threading import Event, Thread

import pytest
from sqlalchemy import text

from authsite.platform.db import open_database, sqlite_files
from authsite.platform.db.sqlite_files import UnusableFile
from tests.support import databases

pytestmark = pytest.mark.parametrize("backend", ["sqlite"], indirect=True)
EVENT = "INSERT INTO audit_events (at, event) VALUES ('2031-01-01', :event)"


@pytest.fixture
def database(fresh_url):
    """A migrated database with one row."""
    made = open_database(databases.migrated(fresh_url))
    add(made, "first")
    yield made
    made.dispose()


def path_of(database):
    return sqlite_files.Path(database.transactional.url.database)


def add(database, *names):
    with database.transactional.begin() as connection:
        for name in names:
            connection.execute(text(EVENT), {"event": name})


def names_in(path):
    with closing(sqlite3.connect(path)) as connection:
        return [name for (name,) in connection.execute("SELECT event FROM audit_events")]


def test_a_copy_made_between_writes_has_whole_transactions(database, tmp_path):
    stop = Event()

    def write():
        while not stop.is_set():
            add(database, "one", "other")

    writers = [Thread(target=write) for _ in range(3)]
    for writer in writers:
        writer.start()
    try:
        sizes = []
        for number in range(10):
            target = tmp_path / f"copy-{number}.sqlite"
            sqlite_files.copy(path_of(database), target)
            names = names_in(target)
            assert names.count("one") == names.count("other")
            sizes.append(len(names))
    finally:
        stop.set()
        for writer in writers:
            writer.join()
    assert sizes == sorted(sizes)
    assert sizes[-1] > sizes[0]


def test_a_copy_is_one_file_that_only_its_owner_can_read(database, tmp_path):
    folder = tmp_path / "backups"
    folder.mkdir()
    sqlite_files.copy(path_of(database), folder / "copy")
    assert [path.name for path in folder.iterdir()] == ["copy"]
    assert stat.S_IMODE((folder / "copy").stat().st_mode) == 0o600


def test_a_backup_that_fails_leaves_the_one_of_yesterday(database, tmp_path):
    target = tmp_path / "copy"
    sqlite_files.copy(path_of(database), target)
    damaged = tmp_path / "damaged"
    content = bytearray(target.read_bytes())
    content[4096 * 3 : 4096 * 8] = b"\xff" * 4096 * 5
    damaged.write_bytes(content)
    for source in (damaged, tmp_path / "missing", tmp_path):
        with pytest.raises(UnusableFile):
            sqlite_files.copy(source, target)
    assert names_in(target) == ["first"]
    assert not list(tmp_path.glob(".copy*"))


def test_the_database_is_not_copied_onto_itself(database):
    with pytest.raises(UnusableFile, match="choose another"):
        sqlite_files.copy(path_of(database), path_of(database))


def test_a_database_in_use_is_not_replaced(database, tmp_path):
    sqlite_files.copy(path_of(database), tmp_path / "copy")
    with database.autocommit.connect() as connection:
        connection.execute(text("SELECT count(*) FROM users"))
    with pytest.raises(UnusableFile, match="stop authsite"):  # its pool has a connection
        sqlite_files.replace(path_of(database), tmp_path / "copy")
    assert names_in(path_of(database)) == ["first"]
    assert (tmp_path / "copy").exists()


def test_the_former_database_stays_with_all_that_was_in_its_journal(database, tmp_path):
    sqlite_files.copy(path_of(database), tmp_path / "copy")
    add(database, "after the backup")
    database.dispose()
    former = sqlite_files.replace(path_of(database), tmp_path / "copy")
    assert names_in(former) == ["first", "after the backup"]
    assert names_in(path_of(database)) == ["first"]


def test_a_damaged_database_is_replaced_and_its_journal_is_not_applied(database, tmp_path):
    path = path_of(database)
    sqlite_files.copy(path, tmp_path / "copy")
    database.dispose()
    path.write_bytes(b"no database")
    journal = path.with_name(f"{path.name}-wal")
    journal.write_bytes(b"no journal")
    former = sqlite_files.replace(path, tmp_path / "copy")
    assert former.read_bytes() == b"no database"
    assert names_in(path) == ["first"]


def test_what_is_deleted_is_overwritten(database):
    secret = "a-name-that-nobody-else-has"
    add(database, secret)
    with database.transactional.begin() as connection:
        connection.execute(text("DELETE FROM audit_events WHERE event != 'first'"))
    database.dispose()  # the last connection writes the journal back, and removes it
    assert names_in(path_of(database)) == ["first"]
    assert secret.encode() not in path_of(database).read_bytes()
