"""A forked process does not use the connections of its parent."""

import time
from concurrent.futures import ThreadPoolExecutor
from threading import Event
from typing import NamedTuple

import pytest
from sqlalchemy import func, select, text

from authsite.platform.db import PreparedQuery
from authsite.platform.db.engine import DatabaseAway
from authsite.platform.db.prepared_connections import RESULT_TIMEOUT
from tests.support.forks import in_forked_process

POSTGRESQL_ONLY = pytest.mark.parametrize("backend", ["postgresql"], indirect=True)


class Backend(NamedTuple):
    """The process of PostgreSQL that serves a connection."""

    pid: int


@POSTGRESQL_ONLY
def test_a_forked_process_leaves_the_connections_to_its_parent(site):
    """Two processes on one connection would read each other's rows."""
    pid = select(func.pg_backend_pid().label("pid"))

    def backends():
        database = site.database
        with database.transactional.connect() as first, database.autocommit.connect() as second:
            third = PreparedQuery(pid, Backend).one(database).pid
            return {first.scalar(pid), second.scalar(pid), third}

    before = set().union(*(backends() for _ in range(5)))  # a pool may have several

    def child():
        own = backends()
        return len(own) == 3 and not own & before

    assert in_forked_process(child)
    assert backends() <= before


@POSTGRESQL_ONLY
def test_a_forked_process_does_not_end_a_statement_of_its_parent(site):
    engine = site.database.autocommit
    pid, sent = select(func.pg_backend_pid()), Event()

    def long_statement():
        with engine.connect() as connection:
            backend = connection.scalar(pid)
            sent.set()
            connection.exec_driver_sql("SELECT pg_sleep(2)")
        return backend

    def child():
        with engine.connect() as connection:
            connection.scalar(pid)
        time.sleep(RESULT_TIMEOUT + 1)
        return True

    with ThreadPoolExecutor(1) as threads:
        running = threads.submit(long_statement)
        assert sent.wait(60)
        time.sleep(0.5)  # until PostgreSQL works on it
        assert in_forked_process(child)
    with engine.connect() as connection:
        alive = text("SELECT count(*) FROM pg_stat_activity WHERE pid = :pid")
        assert connection.scalar(alive, {"pid": running.result()}) == 1


@POSTGRESQL_ONLY
def test_a_forked_process_asks_the_database_itself_though_its_parent_waits_for_it(site):
    answers = [object()]  # to the first attempt alone: pop() fails at each probe
    site.database.breaker.connect(answers.pop)
    site.database.breaker.open()
    select_1 = PreparedQuery(select(func.pg_backend_pid().label("pid")), Backend)
    with pytest.raises(DatabaseAway):
        select_1.one(site.database)
    assert in_forked_process(lambda: select_1.one(site.database))
    site.database.breaker.close()
