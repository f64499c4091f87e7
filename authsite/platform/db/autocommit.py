"""Transactions on a connection in AUTOCOMMIT, for background tasks and commands."""

from collections.abc import Iterator
from contextlib import contextmanager, suppress

from sqlalchemy import Connection
from sqlalchemy.exc import SQLAlchemyError

from .engine import without_time_limit


@contextmanager
def transaction_on(connection: Connection) -> Iterator[None]:
    """Commit the statements of the block together, or none of them."""
    with _block(connection, sqlite="BEGIN IMMEDIATE", postgresql="BEGIN"):
        yield


@contextmanager
def snapshot_on(connection: Connection) -> Iterator[None]:
    """Every statement of the block reads the database as it was when the first one ran.

    It may take long.
    """
    begin = "BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY"
    with _block(connection, sqlite="BEGIN", postgresql=begin):
        without_time_limit(connection)
        yield


@contextmanager
def _block(connection: Connection, *, sqlite: str, postgresql: str) -> Iterator[None]:
    connection.exec_driver_sql(sqlite if connection.dialect.name == "sqlite" else postgresql)
    try:
        yield
    except BaseException:
        with suppress(SQLAlchemyError):  # a lost connection has rolled back
            connection.exec_driver_sql("ROLLBACK")
        raise
    connection.exec_driver_sql("COMMIT")
