"""Standbys that answer the guards' SELECT: settings `database-read-url` and `database-read-lag`.

A standby is behind the primary, so that a token may still look active there after it was revoked.
An answer counts only if it shows everything that was committed until ``lag`` ago, by these steps:

- A process writes a *heartbeat* into its own row on the primary, every quarter of ``lag``. Its
  value is the moment of the process's own monotonic clock, read before the statement is sent.
- A revocation that was answered before that moment has put its commit record into the WAL before
  the heartbeat's. A standby makes commits visible in the order of their records in the WAL. So a
  snapshot of a standby that shows a heartbeat shows all that was answered before its moment.
- The guard's SELECT reads the heartbeat of this process as well. One statement has one snapshot.
- When the answer has arrived, the process compares that moment with its clock.

No two clocks are compared, so that none has to be right. Only the process that wrote a heartbeat
can interpret it, so each has a row. A standby that stops replaying, and one that was promoted while
the primary lives, shows a heartbeat that does not change, and soon is asked no more.

Heartbeats wait for the disk like other commits (``synchronous_commit``): PostgreSQL sends standbys
only what is on the primary's disk, and so an asynchronous commit would arrive later.

No request waits for a connection: a thread for each standby opens them, and says whether the
standby may be asked. A standby that does not answer costs the requests that ask it at that moment
`ANSWER_TIMEOUT`, and the next ones nothing.
"""

import threading
from collections import deque
from collections.abc import Callable, Sequence
from contextlib import suppress
from datetime import timedelta
from hashlib import sha256
from time import monotonic_ns
from uuid import uuid4

import structlog
from sqlalchemy import Dialect, bindparam, delete
from sqlalchemy.dialects.postgresql import insert
from sqlalchemy.engine import make_url

from authsite.platform.runtime import clock
from authsite.platform.runtime.counters import STANDBY_READS
from authsite.platform.runtime.processes import after_fork
from authsite.platform.runtime.spans import query_span

from .base import database_now
from .engine import Database, connect_options, open_connection
from .libpq import PostgreSQLConnection, behind_pooler
from .migrate import Heartbeat
from .prepared import NoRow, PreparedQuery
from .prepared_connections import BoundQuery, CompiledQuery, Rows

# The connections of a process to one standby; `standbys` says what they are for.


log = structlog.get_logger("authsite.standbys")

CONNECTIONS = 8  # of a process to one standby: as many as prepared queries have on the primary
ANSWER_TIMEOUT = 0.25  # seconds; after them the primary is asked


class Standby:
    """One standby: the connections of this process, and whether it may be asked (``ready``).

    Requests take connections that are open (`take`); a thread opens them (`check`).
    """

    def __init__(self, dialect: Dialect, url: str) -> None:
        self._dialect = dialect
        self._url = make_url(url).set(drivername="postgresql+psycopg")
        self.name = f"{self._url.host}:{self._url.port or 5432}"
        self.forget()

    def forget(self) -> None:
        """Start without connections; those of before belong to the process that has forked."""
        self.ready = False
        self._idle: deque[PostgreSQLConnection] = deque()
        self._open: set[PostgreSQLConnection] = set()
        self._wanted = False
        self._reason = ""

    def take(self) -> PostgreSQLConnection | None:
        """A connection that nothing uses; None if there is none, and soon there will be one."""
        try:
            return self._idle.pop()
        except IndexError:
            self._wanted = True
            return None

    def put_back(self, connection: PostgreSQLConnection, *, ready: bool) -> None:
        """Return what `take` gave; without ``ready`` the standby is not asked until `check`."""
        self._idle.append(connection)
        if not ready:
            self.ready = False

    def drop(self, connection: PostgreSQLConnection) -> None:
        """Close a connection that failed, and those that nothing uses: they fail as well."""
        self.ready = False
        self._close(connection)
        self.close_idle()

    def close_idle(self) -> None:
        """Close the connections that nothing uses now."""
        while True:
            try:
                self._close(self._idle.pop())
            except IndexError:
                return

    def check(self, shows: Callable[[PostgreSQLConnection], bool]) -> None:
        """Connect if connections are wanted, or if the standby was not ready; it may be afterwards.

        ``shows``: whether a connection shows what is recent enough.
        """
        if self.ready and not (self._wanted and len(self._open) < CONNECTIONS):
            return
        self._wanted = False
        connection = None if self.ready else self.take()
        reason = ""
        try:
            if connection is None:
                connection = self._connect()
                self._open.add(connection)
            recent = shows(connection)
        except Exception as error:  # the thread must not end
            reason = type(error).__name__
            if connection is not None:  # else it has perhaps reached its max_connections
                self.drop(connection)
        else:
            reason = "" if recent else "behind"
            self._idle.append(connection)
            self.ready = recent
        if reason != self._reason:
            self._reason = reason
            if reason:
                log.warning("standby_not_asked", standby=self.name, reason=reason)
            else:
                log.info("standby_asked", standby=self.name)

    def _close(self, connection: PostgreSQLConnection) -> None:
        self._open.discard(connection)
        with suppress(Exception):  # the server may be gone
            connection.driver_connection.close()

    def _connect(self) -> PostgreSQLConnection:
        # Not by an engine, whose first statements have no time limit.
        arguments, options = self._dialect.create_connect_args(self._url)
        own = {**options, **connect_options(self._url)}
        made = open_connection(self._dialect, arguments, own)
        try:
            made.autocommit = True
            prepare = not behind_pooler(made)
            return PostgreSQLConnection(made, prepare=prepare, timeout=ANSWER_TIMEOUT)
        except BaseException:
            made.close()
            raise


BEATS = 4  # heartbeats in the time of the lag
_ENDED = timedelta(hours=1)  # without a heartbeat: the process has ended

_BEAT = insert(Heartbeat).values(
    process=bindparam("process_id"), moment=bindparam("now"), written_at=database_now()
)
BEAT = PreparedQuery(
    _BEAT.on_conflict_do_update(
        index_elements=[Heartbeat.process],
        set_={"moment": _BEAT.excluded.moment, "written_at": _BEAT.excluded.written_at},
    ),
    NoRow,
)
_AND_BEAT = (
    "SELECT found.*, beat.moment FROM ({query}) AS found, heartbeats AS beat"
    " WHERE beat.process = {process}"
)
_LATEST_BEAT = CompiledQuery(
    b"authsite_heartbeat",
    "SELECT moment FROM heartbeats WHERE process = CAST($1 AS uuid)",
    (),
    (),
)


class Standbys:
    """The standbys of ``primary`` in one process. Without `run` none of them is asked.

    ``urls``: one for each. ``lag``: how old may be at most what they show.
    """

    def __init__(self, primary: Database, urls: Sequence[str], lag: timedelta) -> None:
        self._primary, self.dialect = primary, primary.prepared.dialect
        self._lag = int(lag.total_seconds() * 1e9)
        self.interval = lag.total_seconds() / BEATS
        self.all = [Standby(self.dialect, url) for url in urls]
        self._turn = 0
        self._with_beat: dict[bytes, CompiledQuery] = {}
        self.forget_connections()
        after_fork(self, Standbys.forget_connections)

    def forget_connections(self) -> None:
        """Begin with a separate row in a process that was forked, and without connections."""
        self._process = str(uuid4())
        for standby in self.all:
            standby.forget()

    def reading(self) -> "Reading | None":
        """Where one SELECT can be read; None while no standby may be asked."""
        for standby in self.all:
            if standby.ready:
                return Reading(self)
        STANDBY_READS.add("unavailable")
        return None

    def read(self, query: BoundQuery) -> tuple[Rows, int]:
        """The rows of ``query``, and the moment until which they are complete.

        No rows if no standby answers with what is recent enough.
        """
        standby, connection = self._take()
        if connection is None:
            STANDBY_READS.add("busy")
            return [], 0
        compiled, parameters = self._and_beat(query[0]), [*query[1], self._process]
        try:
            with query_span(self.dialect.name, (compiled.sql,)):
                [rows] = connection.execute([(compiled, parameters)])
        except BaseException as error:
            standby.drop(connection)
            if not isinstance(error, self.dialect.loaded_dbapi.Error):
                raise
            STANDBY_READS.add("failed")
            return [], 0
        recent = not rows or self._is_recent(rows[0][-1])
        standby.put_back(connection, ready=recent)
        if not rows or not recent:
            STANDBY_READS.add("behind" if rows else "no_row")
            return [], 0
        STANDBY_READS.add("answered")
        return [row[:-1] for row in rows], rows[0][-1]

    def run(self, stop: threading.Event, beat: Callable[[], object]) -> None:
        """Call ``beat``, and let threads check the standbys, until ``stop`` is set."""
        for standby in self.all:
            threading.Thread(
                target=self._watch, args=(standby, stop), name="authsite-standby", daemon=True
            ).start()
        while not stop.is_set():
            beat()
            stop.wait(self.interval)

    def beat(self) -> None:
        """Write a heartbeat on the primary. Raises SQLAlchemy's errors."""
        BEAT.one(self._primary, process_id=self._process, now=monotonic_ns())

    def delete_ended(self) -> None:
        """Delete the rows of processes that have ended. Raises SQLAlchemy's errors."""
        ended = Heartbeat.written_at < clock.now() - _ENDED
        with self._primary.autocommit.connect() as connection:
            connection.execute(delete(Heartbeat).where(ended))

    def _watch(self, standby: Standby, stop: threading.Event) -> None:
        while not stop.wait(self.interval):
            standby.check(self._shows)
        standby.ready = False
        standby.close_idle()

    def _shows(self, connection: PostgreSQLConnection) -> bool:
        [rows] = connection.execute([(_LATEST_BEAT, [self._process])])
        return bool(rows) and self._is_recent(rows[0][0])

    def _is_recent(self, moment: int) -> bool:
        return monotonic_ns() - moment <= self._lag

    def _take(self) -> tuple[Standby, PostgreSQLConnection | None]:
        """A connection to the next standby in turn that is ready and has one."""
        # Not locked: two threads at once may take the same turn.
        self._turn = first = (self._turn + 1) % len(self.all)
        for standby in (*self.all[first:], *self.all[:first]):
            if standby.ready and (connection := standby.take()):
                return standby, connection
        return self.all[first], None

    def _and_beat(self, compiled: CompiledQuery) -> CompiledQuery:
        """``compiled``, and in the last column of each row the heartbeat of this process."""
        found = self._with_beat.get(compiled.name)
        if found is None:
            process = f"CAST(${len(compiled.binds) + 1} AS uuid)"
            sql = _AND_BEAT.format(query=compiled.sql, process=process)
            name = b"authsite_" + sha256(sql.encode()).hexdigest()[:32].encode()
            found = self._with_beat[compiled.name] = compiled._replace(name=name, sql=sql)
        return found


class Reading:
    """One SELECT on a standby, in the place of a `Database` (`PreparedQuery.read`).

    It returns a row or, whatever the reason, none: then the primary has to be asked. So only an
    acceptance may be based on it. ``moment``: when the row was complete at the latest, of the
    monotonic clock in seconds; of the last row that was read.
    """

    __slots__ = ("_standbys", "dialect", "moment")

    def __init__(self, standbys: Standbys) -> None:
        self._standbys, self.dialect, self.moment = standbys, standbys.dialect, 0.0

    @property
    def prepared(self) -> "Reading":
        """Itself: what runs the query."""
        return self

    def read(self, query: BoundQuery) -> Rows:
        """The rows of ``query``; none unless a standby answers with what is recent enough."""
        rows, moment = self._standbys.read(query)
        self.moment = moment / 1e9
        return rows
