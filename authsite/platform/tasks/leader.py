"""Locks between all processes on one database: one leader, and one cleanup at a time.

On PostgreSQL these are session-level advisory locks, or behind a pooler those of a transaction that
stays open; on SQLite locked files beside the database. The operating system or the server releases
them when the process ends, also after a crash.
"""

import fcntl
import os
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager, suppress
from enum import Enum

from sqlalchemy import Connection, func, select
from sqlalchemy.exc import SQLAlchemyError

from authsite.platform.db import Database
from authsite.platform.db.engine import behind_pooler


class Lock(Enum):
    """A lock: the number of the advisory lock, and the suffix of the file.

    Migrations have the number 7165218, and `authsite.oauth.clients.wait_for_others` has 7165221.
    """

    LEADER = 7165219, "duty"  # held by the process that cleans up every hour
    CLEANUP = 7165220, "round"  # held during a cleanup by the leader or `authsite purge`
    SEALING = 7165222, "sealing"  # held by the process that seals the audit trail
    SIGNING_KEYS = 7165223, "keys"  # held by the process that makes or rotates signing keys

    def __init__(self, number: int, suffix: str) -> None:
        self.number, self.suffix = number, suffix


@contextmanager
def own_connection(database: Database) -> Iterator[Connection]:
    """A connection in AUTOCOMMIT, outside the pool, so that closing it releases its locks."""
    with database.autocommit.connect() as connection:
        connection.detach()
        yield connection


def held(connection: Connection, lock: Lock) -> AbstractContextManager[bool]:
    """Try to hold ``lock`` for the block, without waiting; yields whether it is held."""
    if connection.dialect.name == "sqlite":
        return _hold_file(connection, lock)
    hold = _hold_in_transaction if behind_pooler(connection) else _hold_in_session
    return hold(connection, lock)


@contextmanager
def _hold_in_session(connection: Connection, lock: Lock) -> Iterator[bool]:
    acquired = bool(connection.scalar(select(func.pg_try_advisory_lock(lock.number))))
    try:
        yield acquired
    finally:
        if acquired:
            with suppress(SQLAlchemyError):  # a lost connection holds no lock
                connection.execute(select(func.pg_advisory_unlock(lock.number)))


@contextmanager
def _hold_in_transaction(connection: Connection, lock: Lock) -> Iterator[bool]:
    with connection.engine.connect() as holder:
        holder.detach()
        holder.exec_driver_sql("BEGIN")  # the connection is in AUTOCOMMIT
        holder.exec_driver_sql("SET LOCAL idle_in_transaction_session_timeout = 0")
        acquired = bool(holder.scalar(select(func.pg_try_advisory_xact_lock(lock.number))))
        if not acquired:
            holder.exec_driver_sql("ROLLBACK")
        yield acquired


@contextmanager
def _hold_file(connection: Connection, lock: Lock) -> Iterator[bool]:
    database = connection.engine.url.database
    if not database or database == ":memory:":
        yield True  # no other process has this database
        return
    # The file stays: a process that deleted it could delete one that another has just opened.
    file = os.open(f"{database}-{lock.suffix}", os.O_CREAT | os.O_RDWR, 0o600)
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        acquired = True
    except BlockingIOError:
        acquired = False
    try:
        yield acquired
    finally:
        os.close(file)
