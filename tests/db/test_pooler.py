"""PgBouncer in transaction mode: each transaction may get another connection of PostgreSQL."""

import pytest
from sqlalchemy import text

from authsite.platform.db import migrate, open_database
from authsite.platform.db.prepared_pool import PREPARED_POOL
from authsite.platform.tasks.background import Lock, held, own_connection
from tests.conftest import need
from tests.support import databases, pgbouncer
from tests.support.postgres import NAME, cluster
from tests.support.servers import authsite, write_ini
from tests.support.site import WEB, Site
from tests.support.together import together

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def server():
    """A PostgreSQL with the schema, and the timeouts of the role (docs/production.md)."""
    need(pgbouncer.available(), "pgbouncer")
    with cluster() as made:
        made.create()
        databases.migrated(made.url)
        with made.connect() as connection:
            connection.execute(f"ALTER ROLE {NAME} SET statement_timeout = '3s'")
        yield made


@pytest.fixture(scope="module")
def url(server):
    with pgbouncer.in_front_of(server) as pooled:
        yield pooled


@pytest.fixture
def site(url):
    """A site behind the pooler, with the web client and Ann."""
    made = Site(url, **WEB)
    databases.empty(made.database)
    made.keys = made.first_party("web")
    made.user()
    yield made
    made.database.dispose()


def test_all_requests_work_on_whatever_connection_they_get(site, server):
    sessions = [site.login(site.keys) for _ in range(PREPARED_POOL)]

    def use(tokens):
        for _ in range(8):
            site.me(tokens["access_token"])
            tokens = site.refresh(site.keys, tokens["refresh_token"])

    together(*(lambda tokens=tokens: use(tokens) for tokens in sessions))
    for number in range(7):  # psycopg prepares a statement that has run five times
        body = {"email": f"eve{number}@example.com", "password": "correct horse battery"}
        site.http.post("/v1/register", body, status=201)
    with server.connect() as connection:
        [used] = connection.execute(
            "SELECT count(*) FROM pg_stat_activity WHERE client_port > 0 AND datname = %s", [NAME]
        ).fetchone()
    assert 1 < used <= 5  # of the pooler, and this one


def test_the_timeouts_are_those_of_the_role(site):
    with site.database.autocommit.connect() as connection:
        assert connection.scalar(text("SHOW statement_timeout")) == "3s"


def test_doctor_names_a_role_without_timeouts(server, tmp_path):
    with pgbouncer.in_front_of(server) as pooled:
        ini = write_ini(tmp_path, pooled)
        assert "no time limit" not in authsite("doctor", ini=ini).stdout
    with server.connect() as connection:
        connection.execute(f"ALTER ROLE {NAME} RESET statement_timeout")
    with pgbouncer.in_front_of(server) as pooled:
        assert "no time limit" in authsite("doctor", ini=write_ini(tmp_path, pooled)).stdout
    with server.connect() as connection:
        connection.execute(f"ALTER ROLE {NAME} SET statement_timeout = '3s'")


def test_of_several_processes_one_leads(url):
    first, second = open_database(url), open_database(url)
    with own_connection(first) as one, own_connection(second) as two:
        with held(one, Lock.LEADER) as acquired:
            assert acquired
            with held(two, Lock.LEADER) as also:
                assert not also
        with held(two, Lock.LEADER) as later:
            assert later
    first.dispose()
    second.dispose()


def test_a_migration_works_through_the_pooler(server):
    with server.connect("postgres") as connection:
        connection.execute("CREATE DATABASE other")
    with pgbouncer.in_front_of(server) as pooled:
        database = open_database(pooled.replace(f"/{NAME}", "/other"))
        migrate.upgrade(database)
        assert migrate.state(database).status == "current"
        database.dispose()
