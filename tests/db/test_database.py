"""The database: its timeouts, and what callers are told while it is away or locked."""

import os
import signal
from concurrent.futures import ThreadPoolExecutor
from threading import Barrier, Event

import psycopg
import pytest
from sqlalchemy import event, text, true
from sqlalchemy.exc import IntegrityError
from sqlalchemy.pool import Pool

from authsite.oauth.models import Family
from authsite.platform.audit.models import AuditEvent
from authsite.platform.audit.service import event_values, recording_if
from authsite.platform.db import open_database, run_together
from authsite.platform.db.prepared_pool import PREPARED_POOL
from authsite.users.models import User
from tests.support import databases
from tests.support.acting import acting
from tests.support.calls import REGISTER, assert_unavailable, every_call
from tests.support.site import WEB, Site
from tests.support.statements import fail_commits
from tests.support.timing import best_of_five
from tests.support.together import together

POSTGRESQL_ONLY = pytest.mark.parametrize("backend", ["postgresql"], indirect=True)


@pytest.fixture
def site(fresh_url):
    """A site on a separate database, with the web client and Ann."""
    made = Site(databases.migrated(fresh_url), **WEB)
    made.keys = made.first_party("web")
    made.user()
    yield made
    made.database.dispose()


@pytest.mark.control("D02")
def test_while_the_storage_is_away_every_call_is_503_and_afterwards_all_is_as_before(site):
    tokens = site.login(site.keys)
    calls = every_call(site, tokens)
    with databases.away(site.database):
        for name, call in calls.items():
            assert_unavailable(call(), name)
    [family] = site.families()
    assert (family.generation, family.revoked_at) == (0, None)
    responses = {name: call().status_int for name, call in calls.items()}
    assert responses == dict.fromkeys(calls, 200) | {"register": 201}


@pytest.mark.control("D02")
def test_a_token_that_is_not_ours_is_401_even_then(site):
    tokens = site.login(site.keys)
    with databases.away(site.database):
        site.me("at_x", status=401)
        site.me(tokens["refresh_token"], status=401)


@pytest.mark.control("D02")
def test_a_site_may_start_before_its_storage(fresh_url):
    url = databases.migrated(fresh_url)
    first = open_database(url)
    try:
        with databases.away(first):
            site = Site(url)
            answer = site.http.post("/v1/register", REGISTER, status=503)
            assert_unavailable(answer, "register")
        site.http.post("/v1/register", REGISTER, status=201)
        site.database.dispose()
    finally:
        first.dispose()


@pytest.mark.control("D02")
@POSTGRESQL_ONLY
def test_connections_that_died_meanwhile_are_nobodys_error(site):
    tokens = site.login(site.keys)

    def look():
        site.me(tokens["access_token"])

    for _ in range(3):
        together(*[look] * 6)  # several connections are kept now
        databases.hang_up(site.database)
        site.me(tokens["access_token"])
        databases.hang_up(site.database)
        tokens = site.refresh(site.keys, tokens["refresh_token"])


@pytest.mark.control("D01")
def test_what_could_not_be_committed_is_not_answered_as_done(site, monkeypatch):
    tokens = site.login(site.keys)
    before = rows(site)
    calls = every_call(site, tokens)
    with monkeypatch.context() as patch:
        fail_commits(patch, site.database)
        for name in ("password", "refresh", "proxy login", "proxy refresh", "register", "logout"):
            assert_unavailable(calls[name](), name)
        wrong = site.keys.form(grant_type="password", username="ann@example.com", password="no")
        assert_unavailable(site.http.post("/v1/oauth/token", wrong, status="*"), "a wrong login")
    assert rows(site) == before
    responses = {name: call().status_int for name, call in calls.items()}
    assert responses == dict.fromkeys(calls, 200) | {"register": 201}


@pytest.mark.control("D01")
def test_of_statements_that_belong_together_all_stay_or_none(site):
    both = recording_if(true())
    good = event_values(acting(None), "a.test")
    bad = {**good, "event": None}
    with pytest.raises(IntegrityError):
        run_together(site.database, (both, good), (both, bad))
    assert "a.test" not in site.events()
    run_together(site.database, (both, good), (both, good))
    assert site.events().count("a.test") == 2


def rows(site):
    with site.db() as db:
        return {
            model.__tablename__: sorted(str(row) for row in db.execute(model.__table__.select()))
            for model in (User, Family, AuditEvent)
        }


@pytest.mark.control("D03")
@POSTGRESQL_ONLY
def test_a_row_that_another_transaction_locks_is_503_within_three_seconds(site):
    tokens = site.login(site.keys)
    form = site.keys.form(grant_type="refresh_token", refresh_token=tokens["refresh_token"])
    with psycopg.connect(site.url) as holder:
        holder.execute("SELECT 1 FROM families FOR UPDATE")
        for _ in best_of_five(3):
            assert_unavailable(site.http.post("/v1/oauth/token", form, status="*"), "refresh")
        site.me(tokens["access_token"])  # reading waits for no writer
    site.token(site.keys, grant_type="refresh_token", refresh_token=tokens["refresh_token"])


@pytest.mark.control("D03")
@POSTGRESQL_ONLY
def test_every_connection_gives_up_in_time(site):
    for engine in (site.database.transactional, site.database.autocommit):
        with engine.connect() as connection:
            for name, wanted in {
                "statement_timeout": "3s",
                "lock_timeout": "2s",
                "idle_in_transaction_session_timeout": "10s",
            }.items():
                assert connection.scalar(text(f"SHOW {name}")) == wanted


@pytest.mark.control("D03")
@POSTGRESQL_ONLY
def test_a_server_that_stops_responding_is_503_too(site):
    """As a machine that hangs: neither its own timeouts come through, nor an end."""
    tokens = site.login(site.keys)
    site.me(tokens["access_token"])
    with psycopg.connect(site.url) as asker:
        others = asker.execute(
            "SELECT pid FROM pg_stat_activity"
            " WHERE datname = current_database() AND pid <> pg_backend_pid()"
        ).fetchall()
    for (pid,) in others:
        os.kill(pid, signal.SIGSTOP)
    try:
        assert_unavailable(every_call(site, tokens)["guard"](), "guard")
    finally:
        for (pid,) in others:
            os.kill(pid, signal.SIGCONT)
    site.me(tokens["access_token"])


@pytest.mark.control("D03")
def test_a_pool_without_a_free_connection_is_503_within_three_seconds(site):
    tokens = site.login(site.keys)
    pool = site.database.transactional.pool
    held = [site.database.transactional.connect() for _ in range(pool.size() + pool._max_overflow)]
    try:
        for _ in best_of_five(3):
            assert_unavailable(every_call(site, tokens)["register"](), "register")
    finally:
        for connection in held:
            connection.close()
    site.refresh(site.keys, tokens["refresh_token"])


@pytest.mark.control("D03")
def test_a_guard_that_finds_no_free_connection_is_503_within_three_seconds(site):
    tokens = site.login(site.keys)
    taken, until = Barrier(PREPARED_POOL + 1), Event()

    def hold(connection, queries):
        taken.wait(30)
        until.wait(60)
        return execute(connection, queries)

    pool = site.database.prepared
    execute, pool._execute = pool._execute, hold
    look = every_call(site, tokens)["guard"]
    with ThreadPoolExecutor(PREPARED_POOL) as threads:
        holding = [threads.submit(look) for _ in range(PREPARED_POOL)]
        try:
            taken.wait(30)
            for _ in best_of_five(3):
                assert_unavailable(look(), "guard")
        finally:
            until.set()
    assert {answer.result().status_int for answer in holding} == {200}


def test_loading_the_application_leaves_no_connection_open(site):
    """A server may fork its processes after that, and they cannot share a connection."""
    tokens, open_now = site.login(site.keys), set()

    def opened(connection, _record):
        open_now.add(id(connection))

    def closed(connection, _record):
        open_now.discard(id(connection))

    event.listen(Pool, "connect", opened)
    event.listen(Pool, "close", closed)
    try:
        made = Site(site.database.autocommit.url.render_as_string(hide_password=False), **WEB)
        assert open_now == set()
        made.me(tokens["access_token"])
        assert open_now
    finally:
        event.remove(Pool, "connect", opened)
        event.remove(Pool, "close", closed)
    made.database.dispose()
