"""Counting in our own database, as a storage of the limits library."""

from datetime import UTC, datetime, timedelta
from typing import Any

from limits.storage import Storage
from sqlalchemy import Executable, bindparam, case, delete, or_, select
from sqlalchemy.dialects import postgresql, sqlite
from sqlalchemy.exc import DBAPIError, SQLAlchemyError

from authsite import clock
from authsite.db import Database
from authsite.db.batches import overdue

from .models import LimitCounter

SWEEP_EVERY = 1000  # writes of one process
SWEEP_AT_MOST = 1000  # rows

_LIVING = select(LimitCounter.count, LimitCounter.expires_at).where(
    LimitCounter.key == bindparam("key"), LimitCounter.expires_at > bindparam("now")
)


class DatabaseStorage(Storage):
    """Counters that all processes share; each call is one statement, committed by itself.

    One upsert decides between requests that race, and nothing is held while a request goes on:
    the caller must not have a transaction of its own that writes (on SQLite it would wait for
    itself). Expired rows are swept up now and then, by whoever happens to write.
    """

    STORAGE_SCHEME = None

    def __init__(self, database: Database) -> None:
        super().__init__(wrap_exceptions=True)
        self._database = database
        dialect = database.reader.dialect.name
        self._increment = _increment(dialect)
        self._sweep = overdue(LimitCounter.key, LimitCounter.expires_at, dialect)
        self._until_sweep = SWEEP_EVERY

    @property
    def base_exceptions(self) -> type[Exception]:
        """What a failing database raises; the library makes its StorageError of it."""
        return SQLAlchemyError

    def incr(self, key: str, expiry: int, amount: int = 1) -> int:
        """Add ``amount`` (below 0: take it back) and return the count; never below 0.

        A count that was 0, or whose window was over, begins a window of ``expiry`` seconds.
        """
        now = clock.now()
        parameters = {
            "key": key,
            "now": now,
            "amount": amount,
            "first": max(0, amount),
            "expires_at": now + timedelta(seconds=expiry),
        }
        count = self._write(self._increment, parameters)
        self._sweep_sometimes()
        return count

    def get(self, key: str) -> int:
        """The count of the running window, 0 if there is none."""
        row = self._database.points.read(_LIVING, {"key": key, "now": clock.now()})
        return int(row[0]) if row else 0

    def get_expiry(self, key: str) -> float:
        """When the running window ends, in seconds since 1970; now, if there is none."""
        now = clock.now()
        row = self._database.points.read(_LIVING, {"key": key, "now": now})
        return float((row[1] if row else now).timestamp())

    def clear(self, key: str) -> None:
        """Forget the count of ``key``."""
        self._write(delete(LimitCounter).where(LimitCounter.key == key))

    def reset(self) -> int:
        """Forget everything."""
        return self._write(delete(LimitCounter))

    def check(self) -> bool:
        """Whether the database answers; raises if it does not."""
        return self.get("") == 0

    def _write(self, statement: Executable, parameters: dict[str, Any] | None = None) -> int:
        """What the statement returns, or how many rows it changed."""
        try:
            return self._execute(statement, parameters)
        except DBAPIError as error:
            if not error.connection_invalidated:
                raise
            return self._execute(statement, parameters)  # the pool was from before a restart

    def _execute(self, statement: Executable, parameters: dict[str, Any] | None) -> int:
        with self._database.reader.connect() as connection:
            result: Any = connection.execute(statement, parameters)
            return int(result.scalar_one() if result.returns_rows else result.rowcount)

    def _sweep_sometimes(self) -> None:
        # Two threads that miscount only sweep a little earlier or later.
        self._until_sweep -= 1
        if self._until_sweep <= 0:
            self._until_sweep = SWEEP_EVERY
            since = datetime.min.replace(tzinfo=UTC)
            self._write(self._sweep, {"since": since, "end": clock.now(), "at_most": SWEEP_AT_MOST})


def _increment(dialect: str) -> Executable:
    upsert: Any = (sqlite if dialect == "sqlite" else postgresql).insert(LimitCounter)
    over = or_(LimitCounter.expires_at <= bindparam("now"), LimitCounter.count <= 0)
    new = upsert.excluded
    changed = {
        "count": case((over, new.count), else_=LimitCounter.count + bindparam("amount")),
        "expires_at": case((over, new.expires_at), else_=LimitCounter.expires_at),
    }
    statement: Executable = (
        upsert.values(
            key=bindparam("key"), count=bindparam("first"), expires_at=bindparam("expires_at")
        )
        .on_conflict_do_update(index_elements=[LimitCounter.key], set_=changed)
        .returning(LimitCounter.count)
    )
    return statement
