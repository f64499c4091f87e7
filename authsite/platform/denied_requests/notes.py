"""Denied requests on their way to the table: held in memory, written together, bounded.

A request never waits for the table. What the bounds leave out, the log has.
"""

import threading
from collections import Counter, deque
from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from functools import partial
from typing import Any

import structlog
from sqlalchemy import delete, insert
from sqlalchemy.exc import SQLAlchemyError

from authsite.platform.context import Job, Services
from authsite.platform.db import Database
from authsite.platform.registrations import Registered

from .models import DeniedRequest

log = structlog.get_logger("authsite.denied_requests")

MAX_ROWS = 20_000  # in the table: about 12 MB
PER_SUBJECT, HOUR = 60, timedelta(hours=1)
"""What one subject adds in an hour and process, for each endpoint: an address (of IPv6 the network,
as in `network_of`) or an authenticated client."""
ALIKE = 30
"""How many of these have the same reason, such as a silent request without a session."""
IN_ALL = 240
"""What one subject adds in an hour and process at all endpoints: it must not push out the rest."""
PER_REASON, MINUTE = 60, timedelta(minutes=1)
"""What one reason adds in a minute and process, whatever the address."""
MAX_HELD = 500  # notes that wait
MAX_SUBJECTS = 20_000  # counted in an hour: about 3 MB
DELAY = 0.3  # seconds for which a note waits for others
STOP_TIMEOUT = 5.0  # seconds that the last write may take when the process ends


_INSERT = insert(DeniedRequest).returning(DeniedRequest.id)


class DeniedRequests:
    """Holds the denied requests of a process until they are written.

    A background task that has set ``wake`` writes them. Without one (a host application may not run
    it) the request writes its own.
    """

    def __init__(self, database: Database) -> None:
        self.wake: threading.Event | None = None
        self._database = database
        self._held: deque[dict[str, Any]] = deque(maxlen=MAX_HELD)
        self.forget()

    def forget(self) -> None:
        """Count from the beginning, as a new process does."""
        self._subjects, self._alike = _Counts(HOUR, PER_SUBJECT), _Counts(HOUR, ALIKE)
        self._in_all = _Counts(HOUR, IN_ALL)
        self._reasons = _Counts(MINUTE, PER_REASON)

    def takes(self, route: str, subject: str, reason: str, at: datetime) -> bool:
        """Count a denied request; whether ``subject`` and ``reason`` may add one more row.

        Asked before the row is made: a flood of requests costs little more than its answers.
        """
        place = f"{route} {subject}"
        return (
            self._alike.takes(f"{place} {reason}", at)
            and self._subjects.takes(place, at)
            and self._in_all.takes(subject, at)
            and self._reasons.takes(reason, at)
        )

    def hold(self, values: Mapping[str, Any]) -> None:
        """Hold the ``values`` of a row until it is written."""
        self._held.append(dict(values))
        if self.wake is None:
            self.write()
        else:
            self.wake.set()

    def write(self) -> None:
        """Write what is held, and delete the oldest rows over `MAX_ROWS`.

        Errors of the database are logged, not raised: no request depends on it.
        """
        rows = []
        while self._held:
            try:
                rows.append(self._held.popleft())
            except IndexError:  # another thread took the last one
                break
        if not rows:
            return
        try:
            with self._database.autocommit.connect() as connection:
                newest = max(connection.scalars(_INSERT, rows))
                connection.execute(
                    delete(DeniedRequest).where(DeniedRequest.id <= newest - MAX_ROWS)
                )
        except SQLAlchemyError as error:
            log.warning("denied_requests_lost", error=type(error).__name__, number=len(rows))


class _Counts:
    """How often each name has come in the present period."""

    def __init__(self, period: timedelta, most: int) -> None:
        self._period, self._most = period, most
        self._counts: Counter[str] = Counter()
        self._begin = self._end = datetime.min.replace(tzinfo=UTC)

    def takes(self, name: str, now: datetime) -> bool:
        # Not locked: concurrent threads count one too few at worst.
        if not self._begin <= now < self._end:
            self._counts, self._begin, self._end = Counter(), now, now + self._period
        if len(self._counts) >= MAX_SUBJECTS and name not in self._counts:
            return False
        self._counts[name] += 1
        return self._counts[name] <= self._most


NOTES = Registered[DeniedRequests]("notes of denied requests")
NAME = "denied-requests"


def notes_of(services: Services) -> DeniedRequests:
    """The notes of this process."""
    return NOTES.of(services)[NAME]


def make_job(services: Services) -> Job:
    """The job that writes the notes; requests then write none themselves."""
    notes, stop = notes_of(services), threading.Event()
    notes.wake = wake = threading.Event()
    return Job(partial(run, notes, wake, stop), partial(end, wake, stop), STOP_TIMEOUT)


def run(notes: DeniedRequests, wake: threading.Event, stop: threading.Event) -> None:
    """Write the notes soon after each one, and once more before the end."""
    while not stop.is_set():
        wake.wait()
        stop.wait(DELAY)
        wake.clear()
        try:
            notes.write()
        except Exception:  # a bug, too, must not end the thread
            log.exception("denied_requests_failed")


def end(wake: threading.Event, stop: threading.Event) -> None:
    """Make `run` write for the last time."""
    stop.set()
    wake.set()
