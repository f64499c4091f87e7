"""Waiting until another connection waits for a lock that the test holds."""

import threading
import time
from contextlib import contextmanager

import psycopg
from sqlalchemy import event

SECONDS = 30
WAITING = """
    SELECT count(*) FROM pg_stat_activity
    WHERE datname = current_database() AND wait_event_type = 'Lock'
    AND backend_type = 'client backend'
"""


@contextmanager
def until_blocked(database):
    """At the end of the block, wait until a thread that began in it waits for a lock of ours.

    SQLite does not say who waits: there it is the moment at which another thread begins to write.
    """
    if database.transactional.dialect.name == "postgresql":
        yield
        _until_postgresql_says(database)
        return
    here, writes = threading.get_ident(), threading.Event()

    def notice(_connection, _cursor, statement, *_):
        if statement.startswith("BEGIN IMMEDIATE") and threading.get_ident() != here:
            writes.set()

    event.listen(database.transactional, "before_cursor_execute", notice)
    try:
        yield
        assert writes.wait(SECONDS), "no other thread writes"
        time.sleep(0.1)  # up to the lock
    finally:
        event.remove(database.transactional, "before_cursor_execute", notice)


@contextmanager
def until_processes_blocked(database, number):
    """The same, for ``number`` transactions of other processes.

    Of other processes SQLite says nothing at all: there it is the time that a request needs to come
    to its transaction.
    """
    yield
    if database.transactional.dialect.name == "postgresql":
        _until_postgresql_says(database, number)
    else:
        time.sleep(1.0)


def _until_postgresql_says(database, number=1):
    url = database.transactional.url.set(drivername="postgresql").render_as_string(
        hide_password=False
    )
    deadline = time.monotonic() + SECONDS
    with psycopg.connect(url, autocommit=True) as connection:
        while connection.execute(WAITING).fetchone()[0] < number:
            assert time.monotonic() < deadline, f"fewer than {number} wait for a lock"
            time.sleep(0.02)
