"""While PostgreSQL does not answer, requests are refused at once; afterwards they are served."""

import time
from contextlib import contextmanager

import psycopg
import pytest
from sqlalchemy import text
from sqlalchemy.exc import DBAPIError

from authsite.platform.db import open_database
from authsite.platform.db.prepared_connections import RESULT_TIMEOUT
from tests.support import databases
from tests.support.calls import REGISTER, assert_unavailable
from tests.support.postgres import cluster
from tests.support.site import WEB, Site

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def server():
    """A PostgreSQL that can be stopped."""
    with cluster() as made:
        made.create()
        databases.migrated(made.url)
        yield made


@pytest.fixture
def site(server):
    """A site on that server, with the web client and Ann, who is logged in."""
    made = Site(server.url, **WEB)
    databases.empty(made.database)
    made.keys = made.first_party("web")
    made.user()
    made.tokens = made.login(made.keys)
    yield made
    made.database.dispose()


def seconds(call):
    began = time.monotonic()
    call()
    return time.monotonic() - began


def assert_at_once(call):
    """The best of five; the others may take longer on a busy machine, but do not wait."""
    taken = [seconds(call) for _ in range(5)]
    assert min(taken) < 0.3
    assert max(taken) < RESULT_TIMEOUT / 2


def guard(site):
    header = {"Authorization": f"Bearer {site.tokens['access_token']}"}
    assert_unavailable(site.http.get("/v1/user", headers=header, status="*"), "guard")


def register(site):
    assert_unavailable(site.http.post("/v1/register", REGISTER, status="*"), "register")


@contextmanager
def returning(site, within=2):
    """After the block, requests succeed ``within`` this number of seconds."""
    yield
    header = {"Authorization": f"Bearer {site.tokens['access_token']}"}
    deadline = time.monotonic() + within
    while site.http.get("/v1/user", headers=header, status="*").status_int != 200:
        assert time.monotonic() < deadline


@pytest.mark.control("D03")
@pytest.mark.parametrize("first", [guard, register])
def test_only_the_first_request_waits_for_a_server_that_hangs(site, server, first):
    site.http.post("/v1/register", {**REGISTER, "email": "eve@example.com"}, status=201)
    with returning(site), server.frozen():
        assert 3 < seconds(lambda: first(site)) < 1.5 * RESULT_TIMEOUT  # it waits once
        assert_at_once(lambda: guard(site))
        assert_at_once(lambda: register(site))


@pytest.mark.control("D03")
def test_nobody_waits_for_a_server_that_is_not_there(site, server):
    with returning(site):
        server.stop()
        try:
            assert_at_once(lambda: guard(site))
            assert_at_once(lambda: register(site))
        finally:
            server.start()


@pytest.mark.control("D03")
def test_a_slow_statement_is_no_outage(site):
    with site.database.autocommit.connect() as connection:
        with pytest.raises(Exception, match="statement timeout"):
            connection.execute(text("SELECT pg_sleep(4)"))
        assert connection.scalar(text("SELECT 1")) == 1
    site.me(site.tokens["access_token"])


def test_a_statement_without_a_timeout_has_no_deadline(server):
    database = open_database(server.url)
    with database.transactional.connect() as connection:
        connection.execute(text("SET statement_timeout = 0"))
        connection.execute(text(f"SELECT pg_sleep({RESULT_TIMEOUT + 0.6})"))
        connection.invalidate()
    database.dispose()


def test_one_broken_connection_is_no_outage(site, server):
    """A firewall may forget a connection: others work, and requests do not fail for it."""
    with psycopg.connect(server.url) as connection:
        [pid] = connection.execute(
            "SELECT pid FROM pg_stat_activity WHERE pid <> pg_backend_pid()"
            " AND query LIKE '%families%' ORDER BY query_start DESC LIMIT 1"
        ).fetchone()
    with server.frozen(pid):
        guard(site)
        site.me(site.tokens["access_token"])


def test_a_connection_that_is_idle_after_an_error_stays_open(server):
    database = open_database(server.url)
    with database.autocommit.connect() as connection:
        connection.detach()
        with pytest.raises(DBAPIError, match="does not exist"):
            connection.execute(text("SELECT no_such_column"))
        time.sleep(RESULT_TIMEOUT + 0.6)
        assert connection.scalar(text("SELECT 1")) == 1
    database.dispose()
