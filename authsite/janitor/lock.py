"""Who may purge: one at a time, over all processes and machines on one database.

On PostgreSQL these are advisory locks of a session, on SQLite files beside the database. Both end
with whoever holds them, however that ends.
"""

import fcntl
import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from enum import Enum

from sqlalchemy import Connection, func, select
from sqlalchemy.exc import SQLAlchemyError

from authsite.db import Database


class Lock(Enum):
    """What can be held; the value is PostgreSQL's number for it (migrations have 7165218)."""

    DUTY = 7165219  # of the one janitor that purges every hour
    ROUND = 7165220  # while anybody purges


@contextmanager
def own_connection(database: Database) -> Iterator[Connection]:
    """A connection in AUTOCOMMIT that no pool gets back: what it holds ends with it."""
    with database.reader.connect() as connection:
        connection.detach()
        yield connection


@contextmanager
def held(connection: Connection, lock: Lock) -> Iterator[bool]:
    """Whether the lock was free and is ours for the block; never waits."""
    kind = _held_file if connection.dialect.name == "sqlite" else _held_by_session
    with kind(connection, lock) as ours:
        yield ours


@contextmanager
def _held_by_session(connection: Connection, lock: Lock) -> Iterator[bool]:
    ours = bool(connection.scalar(select(func.pg_try_advisory_lock(lock.value))))
    try:
        yield ours
    finally:
        if ours:
            with suppress(SQLAlchemyError):  # a connection that died holds nothing any more
                connection.execute(select(func.pg_advisory_unlock(lock.value)))


@contextmanager
def _held_file(connection: Connection, lock: Lock) -> Iterator[bool]:
    database = connection.engine.url.database
    if not database or database == ":memory:":
        yield True  # nobody else has this database
        return
    # The file stays: whoever deleted it could have it from under somebody who just opened it.
    file = os.open(f"{database}-{lock.name.lower()}", os.O_CREAT | os.O_RDWR, 0o600)
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        ours = True
    except BlockingIOError:
        ours = False
    try:
        yield ours
    finally:
        os.close(file)
