"""Counters in our own database, as a storage of the limits library that takes several at once."""

from abc import abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from functools import cache
from typing import Any, NamedTuple, TypeVar

from limits.errors import StorageError
from limits.storage import Storage
from sqlalchemy import (
    ColumnElement,
    Connection,
    Executable,
    Insert,
    String,
    and_,
    bindparam,
    case,
    delete,
    exists,
    literal_column,
    or_,
    select,
)
from sqlalchemy.dialects import postgresql, sqlite
from sqlalchemy.exc import DBAPIError, SQLAlchemyError
from sqlalchemy.orm import Mapped, aliased, mapped_column

from authsite.platform.db.base import Base
from authsite.platform.db.batches import Batch, delete_overdue, sweep_index
from authsite.platform.db.engine import Database
from authsite.platform.db.failures import is_conflict
from authsite.platform.db.prepared import PreparedQuery, run_together
from authsite.platform.runtime import clock
from authsite.platform.settings import Settings

# The table of the counters that all processes share.


class LimitCounter(Base):
    """The count of a window that ends at ``expires_at``.

    On PostgreSQL the counts survive a crash and a failover, except those of the last moments
    (`DatabaseStorage`). An increment changes no index (a HOT update).
    """

    __tablename__ = "limit_counters"

    key: Mapped[str] = mapped_column(String(128), primary_key=True)
    count: Mapped[int]
    expires_at: Mapped[datetime] = mapped_column(index=True)


Result = TypeVar("Result")


class Counted(NamedTuple):
    """The count after it was changed, and how the statement commits; see `_without_waiting`."""

    hits: int
    commits: str


COLUMNS = (LimitCounter.key, LimitCounter.count, LimitCounter.expires_at)
SWEEP_EVERY = 1000  # writes of one process
SWEEP_AT_MOST = 1000  # rows


class Window(NamedTuple):
    """The count of a running window, which ends at ``end``, in seconds since 1970."""

    hits: int
    end: float


class Limited(NamedTuple):
    """A window of ``expiry`` seconds in which ``key`` may be counted ``most`` times."""

    key: str
    expiry: int
    most: int


class Together(Storage):
    """A storage of the limits library that may read and change several counters at once."""

    STORAGE_SCHEME = None

    @abstractmethod
    def count_together(self, windows: Sequence[Limited]) -> int | None:
        """Count one in each of ``windows``, in this order, up to the first one that is full.

        The place of that one, or None. What a full window rejects is not added to those after it.
        Raises `StorageError`.
        """

    @abstractmethod
    def refund_together(self, windows: Sequence[Limited]) -> None:
        """Undo a count in each of ``windows``. Raises `StorageError`."""

    @abstractmethod
    def read(self, keys: Sequence[str]) -> Mapping[str, Window] | None:
        """The running windows of ``keys``; None if the storage reads one key after another.

        Raises `StorageError`.
        """


def count_together(storage: Storage, windows: Sequence[Limited]) -> int | None:
    """See `Together.count_together`; one after another in a storage that takes one key."""
    if isinstance(storage, Together) and len(windows) > 1:
        return storage.count_together(windows)
    for place, (key, expiry, most) in enumerate(windows):
        if storage.incr(key, expiry) > most:
            return place
    return None


def refund_together(storage: Storage, windows: Sequence[Limited]) -> None:
    """See `Together.refund_together`."""
    if isinstance(storage, Together) and len(windows) > 1:
        storage.refund_together(windows)
        return
    for key, expiry, _most in windows:
        storage.incr(key, expiry, -1)


class Windows:
    """The windows of ``keys`` as of its creation, with the methods of a storage.

    Another key, and any key of a storage that does not read together, is read at each use.
    """

    def __init__(self, storage: Storage, keys: Sequence[str]) -> None:
        self._storage, self._keys = storage, keys
        self._read = storage.read(keys) if isinstance(storage, Together) else None

    def get(self, key: str) -> int:
        """The count of ``key``; 0 without a running window."""
        if self._read is None or key not in self._keys:
            return self._storage.get(key)
        return self._read[key].hits if key in self._read else 0

    def get_expiry(self, key: str) -> float:
        """When the window of ``key`` ends, in seconds since 1970; without one, not in future."""
        if self._read is None or key not in self._keys:
            return self._storage.get_expiry(key)
        return self._read[key].end if key in self._read else 0


class Counter(NamedTuple):
    """A counter whose window is running."""

    key: str
    hits: int
    expires_at: datetime


READ_TOGETHER = 3  # keys of one statement
RUNNING = PreparedQuery(
    select(LimitCounter.key, LimitCounter.count.label("hits"), LimitCounter.expires_at).where(
        LimitCounter.key.in_(
            [bindparam(f"key{number}", type_=String()) for number in range(READ_TOGETHER)]
        ),
        LimitCounter.expires_at > bindparam("now"),
    ),
    Counter,
)


class DatabaseStorage(Together):
    """Counters that all processes share; each call is one round trip, committed by itself.

    One upsert decides between concurrent requests, and no lock is held between calls. The caller
    must not have an open transaction that has written (on SQLite it would wait for itself). After
    every `SWEEP_EVERY` writes of a process, expired rows are deleted.

    On PostgreSQL no count waits for the disk or for a standby (``synchronous_commit = off`` for its
    statement). Both get it with the next commit that waits, such as that of the failed login's
    audit row, and at the latest after three times ``wal_writer_delay`` (0.6 s).
    """

    STORAGE_SCHEME = None

    def __init__(self, database: Database) -> None:
        super().__init__(wrap_exceptions=True)
        self._database = database
        dialect = database.autocommit.dialect.name
        self._dialect, self._increment, self._clear = dialect, INCREMENT[dialect], _clear(dialect)
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
        values = _values(key, expiry, amount, clock.now())
        counted = self._twice(lambda: self._increment.one(self._database, **values))
        self._sweep_sometimes()
        return counted.hits if counted else 0

    def count_together(self, windows: Sequence[Limited]) -> int | None:
        """Count in several windows in one round trip and one transaction.

        A statement sees what those before it have counted, and waits with its row for no other one
        in a different order: a limit has its windows in one.
        """
        now, earlier = clock.now(), dict[str, object]()
        queries: list[tuple[PreparedQuery[Counted], Mapping[str, object]]] = []
        for place, (key, expiry, most) in enumerate(windows):
            query = _increment_unless_full(self._dialect, place) if place else self._increment
            queries.append((query, {**_values(key, expiry, 1, now), **earlier}))
            earlier |= {f"earlier{place}": key, f"most{place}": most}
        counts = self._run_together(queries)
        pairs = enumerate(zip(counts, windows, strict=True))
        return next((place for place, (each, of) in pairs if each and each.hits > of.most), None)

    def refund_together(self, windows: Sequence[Limited]) -> None:
        """Undo a count in several windows in one round trip and one transaction."""
        now = clock.now()
        self._run_together(
            [(self._increment, _values(each.key, each.expiry, -1, now)) for each in windows]
        )

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
        """The running windows of at most `READ_TOGETHER` keys, in one statement."""
        try:
            running = self._running(keys)
        except SQLAlchemyError as error:
            raise StorageError(error) from error
        return {each.key: Window(each.hits, each.expires_at.timestamp()) for each in running}

    def clear(self, key: str) -> None:
        """Delete the count of ``key``."""
        self._write(self._clear, {"cleared": key})

    def reset(self) -> int:
        """Delete all counts."""
        return self._write(delete(LimitCounter))

    def check(self) -> bool:
        """Return True; raises if the database does not answer."""
        return self.get("") == 0

    def _run_together(
        self, queries: Sequence[tuple[PreparedQuery[Counted], Mapping[str, object]]]
    ) -> list[Counted | None]:
        try:
            counts = self._twice(lambda: run_together(self._database, *queries))
        except SQLAlchemyError as error:
            raise StorageError(error) from error
        self._sweep_sometimes()
        return counts

    def _running(self, keys: Sequence[str]) -> list[Counter]:
        first, *_ = keys
        last = keys[-1]
        second = keys[1] if len(keys) == READ_TOGETHER else last
        return RUNNING.all(self._database, key0=first, key1=second, key2=last, now=clock.now())

    def _write(self, statement: Executable, parameters: dict[str, Any] | None = None) -> int:
        """The count that the statement returns (0 without a row), or how many rows it changed."""
        return self._twice(lambda: self._execute(statement, parameters))

    def _twice(self, run: Callable[[], Result]) -> Result:
        """``run()``; once more, on a new connection, after one that was lost or a conflict."""
        try:
            return run()
        except DBAPIError as error:
            if not (error.connection_invalidated or is_conflict(error)):
                raise
            return run()

    def _execute(self, statement: Executable, parameters: dict[str, Any] | None) -> int:
        with self._database.autocommit.connect() as connection:
            result = connection.execute(statement, parameters)
            return int((result.scalar() or 0) if result.returns_rows else result.rowcount)

    def _sweep_sometimes(self) -> None:
        # A race between threads only moves the sweep.
        self._until_sweep -= 1
        if self._until_sweep <= 0:
            self._until_sweep = SWEEP_EVERY
            since = datetime.min.replace(tzinfo=UTC)
            self._write(self._sweep, {"since": since, "end": clock.now(), "at_most": SWEEP_AT_MOST})


def purge(connection: Connection, now: datetime, _cfg: Settings) -> Iterator[Batch]:
    """Delete counters whose window is over."""
    return sweep_index(connection, LimitCounter.key, LimitCounter.expires_at, now)


def _values(key: str, expiry: int, amount: int, now: datetime) -> dict[str, object]:
    ends = now + timedelta(seconds=expiry)
    first = max(0, amount)
    return {"key": key, "now": now, "first": first, "expires_at": ends, "amount": amount}


def _increment(dialect: str, earlier: int = 0) -> Insert:
    """Add ``amount``; not if one of the counts before it is over its limit.

    ``earlier``: how many the transaction has counted before. So their windows are running.
    """
    insert = sqlite.insert if dialect == "sqlite" else postgresql.insert
    upsert = insert(LimitCounter)
    row = {
        column.name: bindparam(name, type_=column.type)
        for column, name in zip(COLUMNS, ("key", "first", "expires_at"), strict=True)
    }
    none_left = LimitCounter.count <= literal_column("0")
    over = or_(LimitCounter.expires_at <= bindparam("now"), none_left)
    new = upsert.excluded
    changed = {
        "count": case((over, new.count), else_=LimitCounter.count + bindparam("amount")),
        "expires_at": case((over, new.expires_at), else_=LimitCounter.expires_at),
    }
    if earlier:
        full = aliased(LimitCounter)
        over_limit = [
            and_(full.key == bindparam(f"earlier{n}"), full.count > bindparam(f"most{n}"))
            for n in range(earlier)
        ]
        within = select(*row.values()).where(~exists().where(or_(*over_limit)))
        upsert = upsert.from_select(list(row), within)
    else:
        upsert = upsert.values(row)
    return upsert.on_conflict_do_update(index_elements=[LimitCounter.key], set_=changed).returning(
        LimitCounter.count.label("hits"), _without_waiting(dialect)
    )


def _clear(dialect: str) -> Executable:
    statement = delete(LimitCounter).where(LimitCounter.key == bindparam("cleared"))
    return statement.returning(LimitCounter.count, _without_waiting(dialect))


def _without_waiting(dialect: str) -> ColumnElement[str]:
    """A column of RETURNING; on PostgreSQL the statement that has it commits asynchronously."""
    # true: for this transaction
    off = "set_config('synchronous_commit', 'off', true)" if dialect == "postgresql" else "''"
    return literal_column(off, String()).label("commits")


@cache
def _increment_unless_full(dialect: str, earlier: int) -> PreparedQuery[Counted]:
    """See `_increment`; an operator may give a limit any number of windows."""
    return PreparedQuery(_increment(dialect, earlier), Counted)


INCREMENT = {
    dialect: PreparedQuery(_increment(dialect), Counted) for dialect in ("sqlite", "postgresql")
}
