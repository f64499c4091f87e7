"""The storage of the limits goes away and comes back: neither open nor closed (L14)."""

import time

import pytest
from sqlalchemy import text
from structlog.testing import capture_logs

from authsite.platform.rate_limit import limiter
from authsite.platform.rate_limit.limiter import FallbackStorage
from authsite.platform.rate_limit.storage import Limited
from authsite.platform.settings import Secret
from tests.conftest import need
from tests.support import databases, redis
from tests.support.site import PASSWORD, Site
from tests.support.timing import eventually

LIMITS = {
    "limits": "on",
    "limits_login_account": "4/5 minutes",
    "limits_login_address": "900/minute",
}


@pytest.fixture
def own_site(fresh_url):
    """A site whose database a test may break."""
    site = Site(databases.migrated(fresh_url), **LIMITS)
    site.user()
    yield site
    site.database.dispose()


@pytest.fixture
def server(tmp_path):
    """A Redis of this test alone."""
    need(redis.available(), "redis-server")
    with redis.serving(tmp_path) as running:
        yield running


@pytest.fixture
def redis_site(site_with, server):
    """A site that counts in Redis, and is patient with it: this machine may be busy."""
    site = site_with(**LIMITS, limits_storage=f"{server.url}?socket_timeout=3")
    site.user()
    return site


def storage_of(site):
    return site.app.registry["authsite"].rate_limits.storage


def break_table(site):
    with site.db() as db:
        db.execute(text("ALTER TABLE limit_counters RENAME TO elsewhere"))


def mend_table(site):
    with site.db() as db:
        db.execute(text("ALTER TABLE elsewhere RENAME TO limit_counters"))


@pytest.mark.control("L14")
def test_without_its_table_logins_go_on_and_the_limit_still_trips(own_site):
    keys = own_site.client()
    own_site.try_login(keys)
    break_table(own_site)
    with capture_logs() as logs:
        assert own_site.try_login(keys, PASSWORD).status_int == 200
        away = {"address": "198.51.100.7"}
        seen = [own_site.try_login(keys, **away).status_int for _ in range(9)]
    assert seen == [400] * 4 + [429] * 5
    assert [line["event"] for line in logs].count("limits_storage_failed") == 1
    assert storage_of(own_site).is_degraded
    mend_table(own_site)
    assert eventually(lambda: not storage_of(own_site).is_degraded)


@pytest.mark.control("L14")
def test_once_the_table_is_back_it_is_used_again(own_site):
    keys = own_site.client()
    for _ in range(4):
        own_site.try_login(keys)
    break_table(own_site)
    assert own_site.try_login(keys).status_int == 400
    with capture_logs() as logs:
        mend_table(own_site)
        assert eventually(lambda: not storage_of(own_site).is_degraded)
    assert own_site.try_login(keys).status_int == 429
    assert "limits_storage_recovered" in [line["event"] for line in logs]


@pytest.mark.control("L05")
def test_redis_counts_like_the_database(redis_site):
    keys = redis_site.client()
    seen = [redis_site.try_login(keys) for _ in range(6)]
    assert [answer.status_int for answer in seen] == [400] * 4 + [429] * 2
    assert 295 <= int(seen[-1].headers["Retry-After"]) <= 300
    assert redis_site.try_login(keys, PASSWORD).status_int == 429
    with redis_site.db() as db:
        assert db.scalar(text("SELECT count(*) FROM limit_counters")) == 0


@pytest.mark.parametrize("backend", ["sqlite"], indirect=True)
@pytest.mark.parametrize("deployment", [redis.sentinel, redis.cluster])
def test_sentinel_and_cluster_count_like_one_redis_and_fall_back_like_it(
    site_with, tmp_path, monkeypatch, deployment
):
    need(redis.available(), "redis-server")
    monkeypatch.setattr(limiter, "TIMEOUT", 3)  # this machine may be busy
    with deployment(tmp_path) as (url, server):
        site = site_with(**LIMITS, limits_storage=url)
        keys = site.client()
        seen = [site.try_login(keys).status_int for _ in range(6)]
        assert seen == [400] * 4 + [429] * 2
        assert not storage_of(site).is_degraded
        server.kill()
        seen = [site.try_login(keys).status_int for _ in range(6)]
        assert seen == [400] * 4 + [429] * 2
        assert storage_of(site).is_degraded
        server.start()
        assert eventually(lambda: not storage_of(site).is_degraded)


@pytest.mark.control("L10")
def test_with_redis_a_known_address_gets_in_and_a_success_gives_back(redis_site):
    keys = redis_site.client()
    for _ in range(6):
        assert redis_site.try_login(keys, PASSWORD).status_int == 200
    for number in range(6):
        unknown = redis_site.try_login(keys, address=f"198.51.100.{number}")
    assert unknown.status_int == 429
    assert redis_site.try_login(keys, PASSWORD).status_int == 200


@pytest.mark.control("L14")
@pytest.mark.parametrize("fault", ["kill", "freeze"])
def test_when_redis_goes_away_logins_go_on_and_it_is_used_again_afterwards(
    redis_site, server, fault
):
    keys = redis_site.client()
    redis_site.try_login(keys)
    with capture_logs() as logs:
        getattr(server, fault)()
        assert redis_site.try_login(keys, PASSWORD).status_int == 200
        away = {"address": "198.51.100.7"}
        seen = [redis_site.try_login(keys, **away).status_int for _ in range(8)]
        assert seen == [400] * 4 + [429] * 4
        server.thaw() if fault == "freeze" else server.start()
        assert eventually(lambda: not storage_of(redis_site).is_degraded)
    events = [line["event"] for line in logs if line["event"].startswith("limits_storage")]
    assert events[0] == "limits_storage_failed"
    assert events[-1] == "limits_storage_recovered"
    assert events.count("limits_storage_failed") == 1
    assert redis_site.try_login(keys, address="198.51.100.8").status_int == 400


@pytest.mark.control("L14")
def test_only_the_call_that_meets_a_hanging_redis_waits_for_it(server, site_with):
    from dataclasses import replace

    from authsite.platform.rate_limit.limiter import TIMEOUT, make_storage

    site = site_with()
    storage = make_storage(replace(site.cfg, limits_storage=Secret(server.url)), site.database)
    assert isinstance(storage, FallbackStorage)
    storage.incr("a", 60)
    server.freeze()
    begin = time.perf_counter()
    assert storage.incr("a", 60) == 1
    met = time.perf_counter() - begin
    begin = time.perf_counter()
    for _ in range(100):
        storage.incr("a", 60)
    others = time.perf_counter() - begin
    assert met >= TIMEOUT  # it did wait, so the rest is a comparison with something
    assert others / 100 < met / 10


def test_several_windows_go_on_being_counted_without_the_table(own_site):
    storage, windows = storage_of(own_site), [Limited("a", 60, 3), Limited("b", 3600, 9)]
    assert storage.count_together(windows) is None
    break_table(own_site)
    assert [storage.count_together(windows) for _ in range(4)] == [None, None, None, 0]
    assert storage.is_degraded
    storage.refund_together(windows)
    assert (storage.get("a"), storage.get("b")) == (3, 2)
    mend_table(own_site)
