"""Writes that the storage refuses: a metric, one log line a minute, and reading goes on."""

from datetime import timedelta
from uuid import uuid4

import pytest
from sqlalchemy import event, insert
from sqlalchemy.exc import DBAPIError
from structlog.testing import capture_logs

from authsite.platform.db.failures import is_write_failure
from authsite.platform.rate_limit.storage import LimitCounter
from authsite.platform.runtime import clock
from authsite.platform.runtime.counters import WRITE_FAILURES
from authsite.platform.runtime.seldom import Seldom
from tests.cli.doctor_of_database import fill_disk
from tests.support import databases
from tests.support.site import Site

pytestmark = pytest.mark.both_databases


@pytest.fixture
def full(fresh_url):
    """A site whose database reads, and has no room for new rows."""
    site = Site(databases.migrated(fresh_url))
    site.user()
    site.keys = site.client()
    if site.url.startswith("sqlite"):
        site.database.dispose()

        def no_new_pages(connection, _record):
            connection.execute("PRAGMA max_page_count = 1").close()  # not below what is there

        for engine in (site.database.transactional, site.database.autocommit):
            event.listen(engine, "connect", no_new_pages)
    else:
        fill_disk(site.database)
    yield site
    site.database.dispose()


def written():
    return dict(WRITE_FAILURES.values()).get((), [0])[0]


def fill(site, engine):
    rows = [
        {"key": f"{uuid4()}{n}".ljust(120, "."), "count": 0, "expires_at": clock.now()}
        for n in range(2000)
    ]
    with pytest.raises(DBAPIError) as raised, engine.begin() as connection:
        connection.execute(insert(LimitCounter), rows)
    return raised.value.orig


def test_a_write_that_the_storage_refuses_is_counted_and_logged_once_a_minute(full, frozen):
    frozen.advance(3600)
    before = written()
    with capture_logs() as lines:
        for engine in (full.database.transactional, full.database.autocommit):
            assert is_write_failure(fill(full, engine))
    assert written() == before + 2
    [line] = [each for each in lines if each["event"] == "write_failed"]
    assert line["cause"]
    frozen.advance(120)
    with capture_logs() as lines:
        fill(full, full.database.transactional)
    assert [each["event"] for each in lines] == ["write_failed"]


def test_a_process_whose_database_does_not_write_is_ready(full):
    fill(full, full.database.transactional)
    assert full.http.get("/readyz", status=200).json["status"] == "ready"
    text = full.http.get("/metrics", extra_environ={"REMOTE_ADDR": "127.0.0.1"}).text
    assert f"authsite_write_failures_total {float(written())}" in text


def test_another_error_is_no_failure_to_write(site):
    before = written()
    with pytest.raises(DBAPIError), site.database.autocommit.connect() as connection:
        connection.exec_driver_sql("SELECT * FROM nothing")
    assert written() == before


def test_what_is_seldom_is_due_again_after_its_period_and_after_the_clock_was_set_back(frozen):
    seldom = Seldom(timedelta(minutes=1))
    assert [seldom.due(), seldom.due()] == [True, False]
    frozen.advance(61)
    assert [seldom.due(), seldom.due()] == [True, False]
    frozen.advance(-7200)
    assert seldom.due()
