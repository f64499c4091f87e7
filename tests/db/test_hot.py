"""On PostgreSQL a refresh leaves one row, and touches no index: a HOT update, every time.

https://www.postgresql.org/docs/current/storage-hot.html
"""

import threading
import time
from datetime import timedelta

import pytest
from sqlalchemy import func, select, text, update

from authsite.oauth.models import Family
from authsite.oauth.tokens.active import FAMILIES
from authsite.platform.db.last_used import LastUsedTracker
from authsite.platform.db.standbys import Standbys
from authsite.platform.runtime import clock
from tests.support import databases
from tests.support.extent import volume
from tests.support.site import Site

UPDATES = text("SELECT n_tup_upd, n_tup_hot_upd FROM pg_stat_user_tables WHERE relname = :name")


# SQLite writes every row in its place and has no such thing.
pytestmark = pytest.mark.parametrize("backend", ["postgresql"], indirect=True)


@pytest.fixture
def site(fresh_url):
    """A site on a database that no other test has counted in.

    A transaction that began earlier may still read the old versions of rows, so they keep their
    space, and an update finds none on its page. ANALYZE by autovacuum is such a transaction: on a
    busy machine four of 1,500 updates met one.
    """
    made = Site(databases.migrated(fresh_url))
    with databases.without_autovacuum(made.database):
        yield made
    made.database.dispose()


def updates(site, expected, name="families"):
    """(all, HOT) updates of a table so far, once the ``expected`` ones have been counted."""
    deadline = time.monotonic() + 30
    while True:
        site.database.dispose()  # a server process that ends hands in what it has counted
        with site.database.autocommit.connect() as connection:
            seen = tuple(connection.execute(UPDATES, {"name": name}).one())
        if seen[0] >= expected or time.monotonic() > deadline:
            return seen
        time.sleep(0.05)


def rows(site):
    with site.database.autocommit.connect() as connection:
        return connection.scalar(select(func.count()).select_from(Family))


@pytest.mark.slow
def test_many_refreshes_are_one_row_and_as_many_hot_updates(site):
    count = volume(200, 1000)
    keys = site.client()
    site.user()
    token = site.login(keys)["refresh_token"]
    for _ in range(count):
        token = site.refresh(keys, token)["refresh_token"]
    assert rows(site) == 1
    assert updates(site, count) == (count, count)


@pytest.mark.slow
def test_refreshes_of_many_families_find_space_on_their_pages(site):
    count = volume(200, 300)  # several pages of 8 kB
    keys = site.client("personal")
    tokens = [
        site.token(keys, grant_type="client_credentials").json["refresh_token"]
        for _ in range(count)
    ]
    for _ in range(5):
        tokens = [site.refresh(keys, token)["refresh_token"] for token in tokens]
    assert rows(site) == count
    assert updates(site, 5 * count) == (5 * count, 5 * count)


def test_the_update_of_last_used_is_a_hot_update_too_and_waits_for_no_lock(site):
    keys = site.client("personal")
    for _ in range(2):
        site.token(keys, grant_type="client_credentials")
    held, free = (family.id for family in site.families())
    tracker, now = LastUsedTracker(site.database), clock.now()
    tracker.wake = threading.Event()
    for id in (held, free):
        tracker.note(FAMILIES, id, now - timedelta(hours=2), now)
    with site.db() as db:
        db.execute(update(Family).where(Family.id == held).values(agent="held"))
        assert tracker.write()
        assert [family.used_at is None for family in site.families()] == [True, False]
    assert updates(site, 2) == (2, 2)


def test_each_heartbeat_is_a_hot_update(site):
    standbys = Standbys(site.database, [site.url], timedelta(seconds=1))
    for _ in range(301):
        standbys.beat()
    assert updates(site, 300, "heartbeats") == (300, 300)
