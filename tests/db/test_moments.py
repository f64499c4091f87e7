"""Moments in the database: aware, in UTC, whatever the time zones of the server and the value."""

from datetime import UTC, datetime, timedelta, timezone

import pytest
from sqlalchemy import Column, MetaData, Table, insert, literal, select, text

from authsite.platform.db.base import UtcDateTime, database_now
from authsite.platform.runtime import clock

MOMENTS = Table("moments", MetaData(), Column("at", UtcDateTime()))
EAST = timezone(timedelta(hours=5, minutes=30))


@pytest.fixture
def connection(database):
    with database.autocommit.connect() as made:
        MOMENTS.create(made)
        yield made


@pytest.mark.parametrize(
    "moment",
    [
        datetime(2026, 11, 27, 4, 5, 6, 123456, UTC),
        datetime(2026, 11, 27, 4, 5, 6, tzinfo=UTC),
        datetime(1, 1, 2, tzinfo=UTC),
        datetime(9999, 12, 31, 23, 59, 59, 999999, UTC),
        datetime(2026, 3, 29, 1, 30, tzinfo=EAST),
        None,
    ],
)
def test_a_moment_comes_back_in_utc(connection, moment):
    connection.execute(insert(MOMENTS).values(at=moment))
    found = connection.scalar(select(MOMENTS.c.at))
    assert found == moment
    assert found is None or found.tzinfo is UTC


@pytest.mark.parametrize("zone", ["America/New_York", "Etc/UTC"])
@pytest.mark.parametrize("backend", ["postgresql"], indirect=True)
def test_another_time_zone_of_the_connection_changes_nothing(connection, zone):
    connection.execute(text(f"SET timezone = '{zone}'"))
    moment = datetime(2026, 7, 1, 12, tzinfo=UTC)
    connection.execute(insert(MOMENTS).values(at=moment))
    found = connection.scalar(select(MOMENTS.c.at))
    assert (found, found.tzinfo) == (moment, UTC)


def test_the_time_of_the_database_is_a_moment_in_utc(connection):
    found = connection.scalar(select(database_now()))
    assert found.tzinfo is UTC
    assert abs(found - clock.now()) < timedelta(minutes=1)


def test_a_naive_moment_is_refused(connection):
    naive = datetime(2026, 11, 27)
    with pytest.raises(Exception, match=r"use authsite\.platform\.runtime\.clock\.now\(\)"):
        connection.scalar(select(literal(naive, UtcDateTime())))
