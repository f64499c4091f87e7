"""Browser sessions: one row for each browser in which a user is signed in."""

import threading
import uuid
from collections.abc import Iterator
from datetime import datetime
from functools import partial

import structlog
from sqlalchemy import Connection, ForeignKey, String, Text, or_
from sqlalchemy.orm import Mapped, mapped_column

from authsite.platform.context import Job, Services
from authsite.platform.db.base import Base
from authsite.platform.db.batches import Batch, sweep_table
from authsite.platform.db.last_used import LastUsedTracker
from authsite.platform.runtime.counters import TASK_SUCCESS
from authsite.platform.settings import Settings


class BrowserSession(Base):
    """A signed-in browser. Of its key only a hash is stored (`sessions/service.py`).

    A session ends at ``expires_at``: after `session-lifetime`, or with ``remember`` ("stay signed
    in") after `session-remember`. Without ``remember`` it also ends after `session-idle` without
    use (ASVS 5.0, 7.3).

    ``facts``: see `sign_in/credentials.py`. ``auth_at``: when the user proved to be who they are.
    ``recognized``: since when the browser had been
    recognized before. ``identity_id``: the identity with which the session began; the row of the
    identity may be gone. ``ends_at``: when nothing that comes from this sign-in may last any
    longer; NULL for no such bound. ``confirmed_at``: when the user last proved at a linked
    provider, for a sensitive change, to be who they are.
    """

    __tablename__ = "web_sessions"

    id: Mapped[uuid.UUID] = mapped_column(primary_key=True)
    key_hash: Mapped[str] = mapped_column(String(64), unique=True)
    user_id: Mapped[uuid.UUID] = mapped_column(
        ForeignKey("users.id", ondelete="CASCADE"), index=True
    )
    user_epoch: Mapped[int]
    remember: Mapped[bool]
    created_at: Mapped[datetime]
    used_at: Mapped[datetime]
    expires_at: Mapped[datetime]
    address: Mapped[str | None] = mapped_column(String(45))
    agent: Mapped[str | None] = mapped_column(String(200))
    facts: Mapped[str | None] = mapped_column(Text)
    auth_at: Mapped[datetime]
    recognized: Mapped[datetime | None]
    identity_id: Mapped[uuid.UUID | None]
    ends_at: Mapped[datetime | None]
    confirmed_at: Mapped[datetime | None]


# Delete browser sessions that have ended.


def purge(connection: Connection, now: datetime, cfg: Settings) -> Iterator[Batch]:
    """Delete sessions that were idle or old for too long."""
    idle = BrowserSession.remember.is_(False) & (BrowserSession.used_at <= now - cfg.session_idle)
    return sweep_table(connection, BrowserSession, or_(BrowserSession.expires_at <= now, idle))


# The background task that writes when sessions and tokens were used last.


log = structlog.get_logger("authsite.last_used")

INTERVAL = 60.0  # seconds between two writes
STOP_TIMEOUT = 5.0  # seconds that the last write may take when the process ends


def make_job(services: Services) -> Job:
    """The job that writes the notes of `LastUsedTracker`; requests then write none themselves."""
    tracker, stop = services.last_used, threading.Event()
    tracker.wake = wake = threading.Event()
    return Job(partial(run, tracker, wake, stop), partial(end, wake, stop), STOP_TIMEOUT)


def run(tracker: LastUsedTracker, wake: threading.Event, stop: threading.Event) -> None:
    """Write the notes every minute, when one is urgent, and once more before the end."""
    TASK_SUCCESS.begin("last_used")
    while not stop.is_set():
        wake.wait(INTERVAL)
        wake.clear()
        _write(tracker)
    _write(tracker)  # notes that were made since, also when the task ends before its first wait


def _write(tracker: LastUsedTracker) -> None:
    try:
        if tracker.write():
            TASK_SUCCESS.note("last_used")
    except Exception:  # a bug, too, must not end the thread
        log.exception("last_used_failed")


def end(wake: threading.Event, stop: threading.Event) -> None:
    """Make `run` write for the last time."""
    stop.set()
    wake.set()
