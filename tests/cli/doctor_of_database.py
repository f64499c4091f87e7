"""The lines of ``authsite doctor`` about the database's clock and about writing."""

from datetime import timedelta

import pytest

from authsite.platform.db import migrate, open_database
from authsite.platform.runtime import clock
from tests.support.doctor import line

# A stored refusal stands for the disk: the statement reaches the database, which does not write.
FULL = {
    "sqlite": [
        "CREATE TRIGGER full_disk BEFORE INSERT ON limit_counters"
        " BEGIN SELECT RAISE(ABORT, 'database or disk is full'); END"
    ],
    "postgresql": [
        "CREATE FUNCTION full_disk() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN"
        " RAISE EXCEPTION 'could not extend file' USING ERRCODE = '53100'; END $$",
        "CREATE TRIGGER full_disk BEFORE INSERT ON limit_counters EXECUTE FUNCTION full_disk()",
    ],
}


def fill_disk(database):
    """Let ``database`` refuse new rows of counters, as on a full disk."""
    with database.transactional.begin() as connection:
        for statement in FULL[connection.dialect.name]:
            connection.exec_driver_sql(statement)


def database_not_writable(found, folder):
    url = f"sqlite:///{folder}/full.sqlite"
    database = open_database(url)
    migrate.upgrade(database)
    fill_disk(database)
    database.dispose()
    message = line(found(url), "database-not-writable", "database-url")
    assert "database or disk is full" in message
    assert not [each for each in found() if "does not write" in each.message]


def at_offset(found, seconds):
    now = clock.now
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(clock, "now", lambda: now() + timedelta(seconds=seconds))
        return found()


def clock_even(found, _folder):
    assert "0.0 s" in line(found(), "clock-even", "clock")


def clock_uneven(found, _folder):
    assert "NTP" in line(at_offset(found, 20), "clock-uneven", "clock")


def clock_off(found, _folder):
    message = line(at_offset(found, -86400), "clock-off", "clock")
    assert "86400" in message
    assert "behind the database's" in message
