"""Counting in the database, and in a Redis."""

from datetime import timedelta

import pytest
from sqlalchemy import select, text

from authsite.platform.db import open_database
from authsite.platform.rate_limit import storage as storages
from authsite.platform.rate_limit.limiter import LocalStorage, make_storage
from authsite.platform.rate_limit.storage import DatabaseStorage, LimitCounter, Limited
from authsite.platform.settings import Secret, SettingsError
from tests.support.statements import counted, round_trips
from tests.support.together import together


@pytest.fixture
def storage(site, frozen):
    """The storage in the database, empty."""
    return DatabaseStorage(site.database)


def rows(site):
    with site.db() as db:
        return dict(db.execute(select(LimitCounter.key, LimitCounter.count)).all())


def test_a_count_rises_until_its_window_ends(storage, frozen):
    assert [storage.incr("a", 60) for _ in range(3)] == [1, 2, 3]
    frozen.advance(59.9)
    assert storage.incr("a", 60) == 4
    assert storage.get("a") == 4
    frozen.advance(0.1)
    assert storage.get("a") == 0
    assert storage.incr("a", 60) == 1


def test_the_window_ends_when_its_first_count_said(storage, frozen):
    begin = frozen.at
    storage.incr("a", 60)
    frozen.advance(30)
    storage.incr("a", 999)
    assert storage.get_expiry("a") == (begin + timedelta(seconds=60)).timestamp()


def test_a_key_without_a_window_ends_now(storage, frozen):
    assert storage.get_expiry("nobody") == frozen.at.timestamp()
    assert storage.get("nobody") == 0


def test_a_refund_never_makes_a_count_negative(storage, frozen):
    assert storage.incr("a", 60, -1) == 0
    assert storage.incr("a", 60) == 1
    assert storage.incr("a", 60, -1) == 0
    frozen.advance(61)
    assert storage.incr("a", 60, -1) == 0
    assert storage.incr("a", 60) == 1


def test_a_count_that_was_given_back_whole_begins_a_new_window(storage, frozen):
    storage.incr("a", 60)
    storage.incr("a", 60, -1)
    frozen.advance(30)
    storage.incr("a", 60)
    assert storage.get_expiry("a") == frozen.at.timestamp() + 60


def test_keys_are_forgotten_one_by_one_or_all(storage, site):
    for key in ("a", "b", "c"):
        storage.incr(key, 60)
    storage.clear("b")
    assert rows(site) == {"a": 1, "c": 1}
    assert storage.reset() == 2
    assert rows(site) == {}
    assert storage.check() is True


@pytest.mark.control("L07")
def test_counts_at_the_same_moment_are_all_different(site):
    storage = DatabaseStorage(site.database)
    seen = together(*[lambda: storage.incr("a", 60) for _ in range(16)])
    assert sorted(seen) == list(range(1, 17))


@pytest.mark.control("L07")
def test_counts_in_memory_at_the_same_moment_are_all_different():
    storage = LocalStorage()
    for key in map(str, range(50)):
        counts = [lambda key=key: (storage.get(key), storage.incr(key, 60)) for _ in range(8)]
        together(*counts)
        assert storage.get(key) == 8


def test_counting_is_one_statement(storage, site):
    storage.incr("a", 60)  # which may open a connection
    with counted(site.database) as statements:
        storage.incr("a", 60)
        storage.incr("a", 60)
    assert len(statements) == 2


def test_the_database_holds_no_address_of_any_kind(site_with):
    site = site_with(limits="on")
    site.user()
    keys = site.client()
    site.login(keys)
    for _ in range(7):
        site.try_login(keys)
    with site.db() as db:
        dump = str(db.execute(text("SELECT * FROM limit_counters")).all())
    assert len(rows(site)) >= 4
    assert not [word for word in ("ann", "example", "192.", keys.client_id) if word in dump]
    assert max(map(len, rows(site))) <= 128


@pytest.mark.both_databases
def test_a_count_survives_a_failover_of_postgresql_and_waits_for_nothing(site):
    """UNLOGGED, the table would be empty on a promoted standby, and every lockout would end."""
    if site.database.autocommit.dialect.name != "postgresql":
        pytest.skip("a matter of PostgreSQL alone")
    kind = "SELECT relpersistence FROM pg_class WHERE relname = 'limit_counters'"
    waiting = open_database(f"{site.cfg.database_url.reveal()}&options=-csynchronous_commit%3Don")
    try:
        with waiting.autocommit.connect() as connection:
            assert connection.scalar(text(kind)) == "p"
            connection.execute(text(COMMITTED))
        storage = DatabaseStorage(waiting)
        storage.incr("a", 60)
        storage.incr("a", 60, -1)
        storage.clear("a")
        storage.clear("a")
        with waiting.autocommit.connect() as connection:
            seen = connection.scalars(text("SELECT setting FROM committed")).all()
            assert connection.scalar(text("SHOW synchronous_commit")) == "on"
        assert seen == ["off"] * 3
    finally:
        with waiting.autocommit.connect() as connection:
            connection.execute(text("DROP FUNCTION note_commit CASCADE"))
            connection.execute(text("DROP TABLE committed"))
        waiting.dispose()


# A deferred trigger runs at COMMIT.
COMMITTED = """
CREATE TABLE committed (setting text);
CREATE FUNCTION note_commit() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  INSERT INTO committed VALUES (current_setting('synchronous_commit'));
  RETURN NULL;
END $$;
CREATE CONSTRAINT TRIGGER noting AFTER INSERT OR UPDATE OR DELETE ON limit_counters
  DEFERRABLE INITIALLY DEFERRED FOR EACH ROW EXECUTE FUNCTION note_commit();
"""


@pytest.mark.control("D06")
def test_whoever_counts_sweeps_up_now_and_then(site, frozen, monkeypatch):
    monkeypatch.setattr(storages, "SWEEP_EVERY", 10)
    storage = DatabaseStorage(site.database)
    for number in range(9):
        storage.incr(f"old{number}", 60)
    frozen.advance(60)
    storage.incr("young", 60)
    assert rows(site) == {"young": 1}


def test_a_sweep_in_passing_never_deletes_more_than_it_should(site, frozen, monkeypatch):
    monkeypatch.setattr(storages, "SWEEP_EVERY", 10)
    monkeypatch.setattr(storages, "SWEEP_AT_MOST", 4)
    storage = DatabaseStorage(site.database)
    for number in range(9):
        storage.incr(f"old{number}", 60)
    frozen.advance(60)
    storage.incr("young", 60)
    assert len(rows(site)) == 9 - 4 + 1


def test_a_sweep_does_not_wait_for_a_locked_counter(site, frozen, monkeypatch):
    if site.database.autocommit.dialect.name != "postgresql":
        pytest.skip("SQLite has no locks of rows")
    monkeypatch.setattr(storages, "SWEEP_EVERY", 3)
    storage = DatabaseStorage(site.database)
    storage.incr("held", 60)
    storage.incr("free", 60)
    frozen.advance(60)
    with site.db() as db:
        db.scalar(select(LimitCounter.key).where(LimitCounter.key == "held").with_for_update())
        storage.incr("young", 60)  # waiting would end in an error, by lock_timeout
    assert rows(site) == {"held": 1, "young": 1}


def test_a_connection_that_died_is_replaced(site):
    if site.database.autocommit.dialect.name != "postgresql":
        pytest.skip("SQLite has no connections to lose")
    storage = DatabaseStorage(site.database)
    storage.incr("a", 60)
    with site.db() as db:
        end = "SELECT pg_terminate_backend(pid) FROM pg_stat_activity "
        others = "WHERE pid <> pg_backend_pid() AND datname = current_database()"
        db.execute(text(end + others))
    assert storage.incr("a", 60) == 2


def test_a_storage_whose_package_is_missing_stops_the_start(site_with, monkeypatch):
    import sys

    monkeypatch.setitem(sys.modules, "redis", None)
    monkeypatch.setitem(sys.modules, "redis.backoff", None)
    from dataclasses import replace

    cfg = replace(site_with().cfg, limits_storage=Secret("redis://127.0.0.1:1/0"))
    with pytest.raises(SettingsError, match=r"limits-storage.*pip install redis"):
        make_storage(cfg, site_with().database)


@pytest.mark.parametrize("url", ["redis+sentinel://127.0.0.1:26379", "redis://:x", "redis://a:x/0"])
def test_a_redis_that_no_connection_can_use_stops_the_start(site_with, url):
    from dataclasses import replace

    site = site_with()
    with pytest.raises(SettingsError, match=r"limits-storage.*give redis://host:6379/0"):
        make_storage(replace(site.cfg, limits_storage=Secret(url)), site.database)


@pytest.mark.parametrize("form", ["redis", "redis+sentinel", "redis+cluster"])
def test_the_start_waits_for_no_redis(site_with, form):
    from dataclasses import replace

    site = site_with()
    url = f"{form}://127.0.0.1:1/{'main' if 'sentinel' in form else ''}"
    storage = make_storage(replace(site.cfg, limits_storage=Secret(url)), site.database)
    assert storage.incr("a", 60) == 1
    assert storage.is_degraded


def test_several_counters_are_read_together_without_those_that_have_ended(storage, frozen):
    storage.incr("a", 60)
    storage.incr("b", 30)
    storage.incr("b", 30)
    end = frozen.at.timestamp()
    assert storage.read(["b", "a", "c"]) == {"a": (1, end + 60), "b": (2, end + 30)}
    frozen.advance(30)
    assert storage.read(["b", "a"]) == {"a": (1, end + 60)}


MINUTE, HOUR = Limited("minute", 60, 3), Limited("hour", 3600, 5)


@pytest.mark.both_databases
def test_several_windows_are_counted_in_one_round_trip(storage, site):
    with round_trips(site.database) as trips:
        found = [storage.count_together([MINUTE, HOUR]) for _ in range(5)]
    assert found == [None, None, None, 0, 0]
    assert trips == [2] * 5  # statements of each
    # What the first window rejects is not added to the second.
    assert rows(site) == {"minute": 5, "hour": 3}
    with round_trips(site.database) as trips:
        storage.refund_together([MINUTE, HOUR])
    assert (trips, rows(site)) == ([2], {"minute": 4, "hour": 2})


@pytest.mark.both_databases
def test_the_first_full_window_of_many_is_told_and_ends_the_count(storage, site, frozen):
    day, week = Limited("day", 86400, 4), Limited("week", 604800, 9)
    windows = [MINUTE, HOUR, day, week]
    found = []
    for _ in range(7):
        found.append(storage.count_together(windows))
        frozen.advance(40)  # each second time a new minute
    assert found == [None, None, None, None, 2, 1, 1]
    assert rows(site)["hour"] == 7
    assert (rows(site)["day"], rows(site)["week"]) == (5, 4)


@pytest.mark.both_databases
def test_windows_that_are_counted_together_at_the_same_moment_are_exact(storage, site):
    windows = [Limited("minute", 60, 10), Limited("hour", 3600, 100)]
    found = together(*[lambda: storage.count_together(windows)] * 24)
    assert sorted(found, key=str) == [0] * 14 + [None] * 10
    assert rows(site) == {"minute": 24, "hour": 10}


@pytest.mark.both_databases
@pytest.mark.parametrize(
    ("name", "subject", "windows"),
    [
        ("authorize-user", "ann", 2),
        ("verification", "ann", 2),
        ("login-address", "203.0.113.9", 1),
        ("login-address", "2001:db8::/64", 2),
    ],
)
def test_all_windows_of_a_limit_are_one_round_trip(site_with, name, subject, windows):
    """Also those of the network around an IPv6 address."""
    site = site_with(limits="on")
    limiter = site.app.registry["authsite"].rate_limits
    with round_trips(site.app.registry["authsite"].database) as trips:
        assert limiter.acquire(name, subject) is None
        limiter.refund(name, subject)
    assert trips == [windows] * 2
