"""Counters in our own database, as a storage of the limits library."""

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime, timedelta
from typing import Any, NamedTuple

from limits.errors import StorageError
from sqlalchemy import Executable, String, bindparam, case, delete, or_, select
from sqlalchemy.dialects import postgresql, sqlite
from sqlalchemy.exc import DBAPIError, SQLAlchemyError

from authsite.platform.db.batches import delete_overdue
from authsite.platform.db.conflicts import is_conflict
from authsite.platform.db.engine import Database
from authsite.platform.db.prepared import PreparedQuery
from authsite.platform.runtime import clock

from .models import LimitCounter
from .windows import ReadingTogether, Window

SWEEP_EVERY = 1000  # writes of one process
SWEEP_AT_MOST = 1000  # rows


class Counter(NamedTuple):
    """A counter whose window is running."""

    key: str
    hits: int
    expires_at: datetime


TOGETHER = 3  # keys of one statement
RUNNING = PreparedQuery(
    select(LimitCounter.key, LimitCounter.count.label("hits"), LimitCounter.expires_at).where(
        LimitCounter.key.in_(
            [bindparam(f"key{number}", type_=String()) for number in range(TOGETHER)]
        ),
        LimitCounter.expires_at > bindparam("now"),
    ),
    Counter,
)


class DatabaseStorage(ReadingTogether):
    """Counters that all processes share; each call is one statement, committed by itself.

    One upsert decides between concurrent requests, and no lock is held between calls. The caller
    must not have an open transaction that has written (on SQLite it would wait for itself). After
    every `SWEEP_EVERY` writes of a process, expired rows are deleted.
    """

    STORAGE_SCHEME = None

    def __init__(self, database: Database) -> None:
        super().__init__(wrap_exceptions=True)
        self._database = database
        dialect = database.autocommit.dialect.name
        self._increment = _increment(dialect)
        self._sweep = delete_overdue(LimitCounter.key, LimitCounter.expires_at, dialect)
        self._until_sweep = SWEEP_EVERY

    @property
    def base_exceptions(self) -> type[Exception]:
        """Errors of the database, which the library converts to its StorageError."""
        return SQLAlchemyError

    def incr(self, key: str, expiry: int, amount: int = 1) -> int:
        """Add ``amount`` (negative for a refund) and return the count, which is at least 0.

        A count of 0, and one whose window is over, starts a window of ``expiry`` seconds.
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
        running = self._running([key])
        return running[0].hits if running else 0

    def get_expiry(self, key: str) -> float:
        """The end of the running window in seconds since 1970; now if there is none."""
        now = clock.now()
        running = self._running([key])
        return (running[0].expires_at if running else now).timestamp()

    def read(self, keys: Sequence[str]) -> Mapping[str, Window]:
        """The running windows of at most `TOGETHER` keys, in one statement."""
        try:
            running = self._running(keys)
        except SQLAlchemyError as error:
            raise StorageError(error) from error
        return {each.key: Window(each.hits, each.expires_at.timestamp()) for each in running}

    def clear(self, key: str) -> None:
        """Delete the count of ``key``."""
        self._write(delete(LimitCounter).where(LimitCounter.key == key))

    def reset(self) -> int:
        """Delete all counts."""
        return self._write(delete(LimitCounter))

    def check(self) -> bool:
        """Return True; raises if the database does not answer."""
        return self.get("") == 0

    def _running(self, keys: Sequence[str]) -> list[Counter]:
        first, *_ = keys
        last = keys[-1]
        second = keys[1] if len(keys) == TOGETHER else last
        return RUNNING.all(self._database, key0=first, key1=second, key2=last, now=clock.now())

    def _write(self, statement: Executable, parameters: dict[str, Any] | None = None) -> int:
        """The value that the statement returns, or the number of rows that it changed."""
        try:
            return self._execute(statement, parameters)
        except DBAPIError as error:
            if not (error.connection_invalidated or is_conflict(error)):
                raise
            return self._execute(statement, parameters)  # on a new connection

    def _execute(self, statement: Executable, parameters: dict[str, Any] | None) -> int:
        with self._database.autocommit.connect() as connection:
            result = connection.execute(statement, parameters)
            return int(result.scalar_one() if result.returns_rows else result.rowcount)

    def _sweep_sometimes(self) -> None:
        # A race between threads only moves the sweep.
        self._until_sweep -= 1
        if self._until_sweep <= 0:
            self._until_sweep = SWEEP_EVERY
            since = datetime.min.replace(tzinfo=UTC)
            self._write(self._sweep, {"since": since, "end": clock.now(), "at_most": SWEEP_AT_MOST})


def _increment(dialect: str) -> Executable:
    insert = sqlite.insert if dialect == "sqlite" else postgresql.insert
    upsert = insert(LimitCounter)
    over = or_(LimitCounter.expires_at <= bindparam("now"), LimitCounter.count <= 0)
    new = upsert.excluded
    changed = {
        "count": case((over, new.count), else_=LimitCounter.count + bindparam("amount")),
        "expires_at": case((over, new.expires_at), else_=LimitCounter.expires_at),
    }
    return (
        upsert.values(
            key=bindparam("key"), count=bindparam("first"), expires_at=bindparam("expires_at")
        )
        .on_conflict_do_update(index_elements=[LimitCounter.key], set_=changed)
        .returning(LimitCounter.count)
    )
