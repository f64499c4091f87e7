"""When a row was used last: noted by the guards, written in batches, true to the hour.

The guard's path pays one look into a set. No index is on ``used_at``, so that on PostgreSQL the
write is a HOT update, and so is every refresh.
"""

from collections import defaultdict, deque
from datetime import UTC, datetime, timedelta
from threading import Event
from typing import Any, NamedTuple
from uuid import UUID

import structlog
from sqlalchemy import Table, Update, bindparam, or_, select, update
from sqlalchemy.exc import SQLAlchemyError

from authsite.db import Database

log = structlog.get_logger("authsite.uses")

HOUR = timedelta(hours=1)
BATCH = 500  # rows in one UPDATE
AT_MOST = 20_000  # notes and ids held in one process: some 4 MB


class Note(NamedTuple):
    """One row of ``table`` that was used in the hour that begins at ``hour``."""

    table: Table
    id: UUID
    hour: datetime


class Uses:
    """What was used, until it is written.

    Once `thread.start` has set ``wake``, its thread writes. Without one (a host that includes
    authsite) the first request of an hour writes for its own row, and no other request does.
    """

    def __init__(self, database: Database) -> None:
        self.wake: Event | None = None
        self._database = database
        self._notes: deque[Note] = deque(maxlen=AT_MOST)  # full: the oldest go, and do little harm
        self._seen: set[int] = set()  # not UUIDs, whose hash is made in Python
        self._hour = self._next = datetime.min.replace(tzinfo=UTC)
        self._statements: dict[Table, Update] = {}

    def note(
        self, table: Table, id: UUID, known: datetime, now: datetime, *, urgent: bool = False
    ) -> None:
        """Row ``id`` is in use, and says of itself that it was used at ``known``.

        ``urgent``: do not wait for the next round. Never raises: a use that could not be written
        is no reason to refuse it.
        """
        if not self._hour <= now < self._next:
            self._turn(now)
        if known >= self._hour or id.int in self._seen:
            return
        if len(self._seen) >= AT_MOST:
            self._seen.clear()  # ids that come again are written again, to no effect
        self._seen.add(id.int)
        self._notes.append(Note(table, id, self._hour))
        if self.wake is None:
            self.write()
        elif urgent:
            self.wake.set()

    def write(self) -> bool:
        """Write all notes; whether that went well. If not, they are kept for the next time."""
        while notes := self._take():
            rows = defaultdict(list)
            for table, id, hour in notes:
                rows[table, hour].append(id)
            try:
                with self._database.reader.connect() as connection:  # each statement is committed
                    for (table, hour), ids in rows.items():
                        connection.execute(self._statement(table), {"ids": ids, "hour": hour})
            except SQLAlchemyError as error:
                self._notes.extend(notes)
                log.warning("uses_wait", error=type(error).__name__, notes=len(self._notes))
                return False
        return True

    def _turn(self, now: datetime) -> None:
        # Threads that meet here note something twice at worst.
        hour = now.replace(minute=0, second=0, microsecond=0)
        self._seen = set()
        self._hour, self._next = hour, hour + HOUR

    def _take(self) -> list[Note]:
        notes: list[Note] = []
        while self._notes and len(notes) < BATCH:
            try:
                notes.append(self._notes.popleft())
            except IndexError:  # another thread took the last one
                break
        return notes

    def _statement(self, table: Table) -> Update:
        if table not in self._statements:
            self._statements[table] = mark(table)
        return self._statements[table]


def mark(table: Table) -> Update:
    """Set ``used_at`` of the rows ``ids`` to ``hour``, where it is older.

    A row that somebody else holds is left out: it is being refreshed, ended or marked by another
    process, and waiting for several rows at once is how deadlocks begin. (A password change in
    the same instant costs its own row this one note.)
    """
    columns: Any = table.c
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
