"""A host application whose guards may read from standbys, and what they read there."""

import time
from contextlib import contextmanager

from authsite.platform.runtime.counters import STANDBY_READS
from authsite.platform.tasks.background import BACKGROUND_TASKS
from tests.support import databases
from tests.support.host import HostSite, hello
from tests.support.postgres import cluster
from tests.support.site import bearer
from tests.support.statements import counted

LAG = 1  # seconds, where a test measures how long what is old is accepted
SLACK = 10.0  # seconds that a busy machine may need until a standby is asked again


def build(config):
    for guard in ("api", "web"):
        config.add_route(f"test.{guard}", f"/{guard}", guard=guard)
        config.add_view(hello, route_name=f"test.{guard}")
    config.add_route("test.scoped", "/scoped", guard="api", scope="reports:read")
    config.add_view(hello, route_name="test.scoped")


@contextmanager
def host(primary, *standbys, lag=LAG, **settings):
    """A host application with these standbys; its heartbeats end with the block."""
    urls = ",".join(f"127.0.0.1:{each.port}" for each in standbys)
    read_url = primary.url.replace(f"127.0.0.1:{primary.port}", urls)
    site = HostSite(
        primary.url, build, database_read_url=read_url, database_read_lag=f"{lag}s",
        refresh_grace="0s",
        scopes="\n reports:read: Read reports", **settings,
    )  # fmt: skip
    databases.empty(site.database)
    site.http.get("/v1/guard/api", status=401)  # starts the background tasks
    try:
        yield site
    finally:
        task = BACKGROUND_TASKS.of(site.app.registry["authsite"])["heartbeats"]
        task.job.stop()
        site.database.dispose()


@contextmanager
def replicated():
    """A primary with the tables of authsite, and its standby."""
    with cluster() as primary, cluster() as standby:
        primary.create()
        databases.migrated(primary.url)
        standby.follow(primary)
        yield primary, standby


def with_ann(site, primary):
    site.user()
    site.keys = site.client()
    site.ann = site.login(site.keys)["access_token"]
    caught_up(site, primary)
    return site


def caught_up(site, primary):
    """Until each standby has all that was written and a heartbeat after it, and is asked."""
    standbys = site.app.registry["authsite"].standbys
    standbys.beat()  # a test has emptied the tables
    primary.wait_for_standby()
    deadline = time.monotonic() + SLACK
    while not all(each.ready for each in standbys.all):
        assert time.monotonic() < deadline
        time.sleep(0.02)


def reads():
    return {outcome: int(number) for (outcome,), [number] in STANDBY_READS.values()}


@contextmanager
def only(**wanted):
    """The reads of the block on standbys, by their outcome."""
    before = reads()
    yield
    after = reads()
    assert {k: v - before.get(k, 0) for k, v in after.items() if v != before.get(k, 0)} == wanted


@contextmanager
def by_standby(site):
    """Nothing in the block asks the primary; each request is answered by a standby."""
    before = reads().get("answered", 0)
    with counted(site.database) as statements:
        yield
    assert [each for each in statements if "heartbeats" not in each] == []
    assert reads()["answered"] > before


@contextmanager
def replay_paused(standby):
    with standby.connect() as connection:
        connection.execute("SELECT pg_wal_replay_pause()")
        while connection.execute("SELECT pg_get_wal_replay_pause_state()").fetchone() != (
            "paused",
        ):
            time.sleep(0.01)
        try:
            yield
        finally:
            connection.execute("SELECT pg_wal_replay_resume()")


def get(site, token, path="/api"):
    return site.http.get(path, headers=bearer(token), status="*").status_int
