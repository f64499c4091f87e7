"""When a row was last used: noted by the guards, written in batches, precise to the hour.

With a short `session-idle` it is more precise, see `precision`.

A guard only looks into a set. ``used_at`` has no index, so that the write, like every refresh, is
a HOT update on PostgreSQL.
"""

from collections import defaultdict, deque
from datetime import UTC, datetime, timedelta
from functools import cache
from threading import Event
from typing import TypeAlias
from uuid import UUID

import structlog
from sqlalchemy import Table, Update, bindparam, or_, select, update
from sqlalchemy.exc import SQLAlchemyError

from .engine import Database

log = structlog.get_logger("authsite.last_used")

HOUR = timedelta(hours=1)
_MINUTE = timedelta(minutes=1)
BATCH = 500  # rows in one UPDATE
MAX_NOTES = 20_000  # notes, and ids, held in one process: about 4 MB
# A row that was used in the hour (see `precision`) that begins at the moment.
Note: TypeAlias = tuple[Table, UUID, datetime]


class LastUsedTracker:
    """Holds which rows were used until they are written.

    A background task that has set ``wake`` writes the notes. Without one (a host application may
    not run it) the first request of an hour writes for its own row.
    """

    def __init__(self, database: Database, hour: timedelta = HOUR) -> None:
        self.wake: Event | None = None
        self._database = database
        self._notes: deque[Note] = deque(maxlen=MAX_NOTES)  # when it is full, the oldest are lost
        self._seen: set[int] = set()  # not UUIDs, whose hash is computed in Python
        self._seconds = int(hour.total_seconds())
        self._hour = self._next_hour = datetime.min.replace(tzinfo=UTC)

    def note(
        self, table: Table, row_id: UUID, used_at: datetime, now: datetime, *, urgent: bool = False
    ) -> None:
        """Note that a row is used ``now``; ``used_at``: the last use that the row contains.

        ``urgent``: wake the background task. Database errors are logged, not raised: the request
        does not depend on the note.
        """
        if not self._hour <= now < self._next_hour:
            self._begin_hour(now)
        if used_at >= self._hour or row_id.int in self._seen:
            return
        if len(self._seen) >= MAX_NOTES:
            self._seen.clear()  # a row that is noted twice is written twice, with the same value
        self._seen.add(row_id.int)
        self._notes.append((table, row_id, self._hour))
        if self.wake is None:
            self.write()
        elif urgent:
            self.wake.set()

    def write(self) -> bool:
        """Write all notes; whether that succeeded. After an error they wait for the next call."""
        while notes := self._next_batch():
            ids_by_hour = defaultdict(list)
            for table, row_id, hour in notes:
                ids_by_hour[table, hour].append(row_id)
            try:
                with self._database.autocommit.connect() as connection:
                    for (table, hour), ids in ids_by_hour.items():
                        connection.execute(update_used_at(table), {"ids": ids, "hour": hour})
            except SQLAlchemyError as error:
                self._notes.extend(notes)
                log.warning("last_used_delayed", error=type(error).__name__, notes=len(self._notes))
                return False
        return True

    def _begin_hour(self, now: datetime) -> None:
        # Not locked: concurrent threads note a row twice at worst.
        hour = datetime.fromtimestamp(now.timestamp() // self._seconds * self._seconds, now.tzinfo)
        self._seen = set()
        self._hour, self._next_hour = hour, hour + timedelta(seconds=self._seconds)

    def _next_batch(self) -> list[Note]:
        notes: list[Note] = []
        while self._notes and len(notes) < BATCH:
            try:
                notes.append(self._notes.popleft())
            except IndexError:  # another thread took the last one
                break
        return notes


def precision(idle: timedelta) -> timedelta:
    """An hour, or less where a session ends after a short time without use: `session-idle`.

    A session that is in use would otherwise end up to an hour too early.
    """
    return min(HOUR, max(idle / 12, _MINUTE))


@cache
def update_used_at(table: Table) -> Update:
    """UPDATE that sets ``used_at`` of the rows ``ids`` to ``hour``, where it is older.

    It skips locked rows: another process is refreshing, ending or updating them, and waiting for
    several rows could cause a deadlock. (During a password change the row loses this one note.)
    """
    columns = table.c
    due = (
        select(columns.id)
        .where(
            columns.id.in_(bindparam("ids", expanding=True)),
            or_(columns.used_at.is_(None), columns.used_at < bindparam("hour")),
        )
        .with_for_update(skip_locked=True, key_share=True)
        .cte("due")
    )
    return update(table).where(columns.id.in_(select(due.c.id))).values(used_at=bindparam("hour"))
