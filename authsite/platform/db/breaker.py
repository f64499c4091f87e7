"""A circuit breaker: while the database does not answer, requests are refused at once.

Otherwise each of them would occupy a thread until its own timeout, and the others would wait for a
thread. An answer that is an error (no connection left, a slow statement) does not open the breaker:
that request does not wait long.
"""

import threading
from collections.abc import Callable
from time import monotonic
from typing import Any

import structlog
from sqlalchemy import exc

log = structlog.get_logger("authsite.db")

Connect = Callable[[], Any]
SLOW = 1.0  # seconds; an attempt to connect that fails after them got no answer
PROBE_SECONDS = 0.25  # between two probes
# Seconds in which requests wait for the first probe: a single connection may be broken.
FIRST_PROBE = 0.5


class DatabaseAway(exc.TimeoutError):
    """The database does not answer, and so was not asked."""


class Breaker:
    """The breaker of one database in one process.

    ``on_open`` closes the idle connections, so that nothing uses them any more.

    Closed, it costs nothing for a connection that a pool has. Open, it refuses new connections,
    and the pools are empty. A thread then connects every `PROBE_SECONDS`, and closes the breaker
    when it succeeds.
    """

    def __init__(self, on_open: Callable[[], None]) -> None:
        self._on_open = on_open
        self._closed = threading.Event()
        self._closed.set()
        self._lock = threading.Lock()
        self._opened_at = 0.0
        self._connect: Connect | None = None

    def connect(self, connect: Connect) -> Any:
        """``connect()``; raises `DatabaseAway` while the breaker is open."""
        self._connect = connect
        if not self._closed.is_set():
            rest = self._opened_at + FIRST_PROBE - monotonic()
            if not self._closed.wait(max(0.0, rest)):
                raise DatabaseAway("the database does not answer")
        began = monotonic()
        try:
            return connect()
        except Exception:
            if monotonic() - began >= SLOW:
                self.open()
            raise

    def open(self) -> None:
        """Refuse connections until the database answers."""
        with self._lock:
            if self._connect is None or not self._closed.is_set():
                return
            self._opened_at = monotonic()
            self._closed.clear()
        log.error("database_away")
        try:
            self._on_open()
            threading.Thread(
                target=self._probe, args=(self._connect,), name="authsite-probe", daemon=True
            ).start()
        except BaseException:  # without a probe nothing would close the breaker
            self._closed.set()
            raise

    def close(self) -> None:
        """End the probes; the next request asks the database itself."""
        self._closed.set()

    def _probe(self, connect: Connect) -> None:
        while not self._closed.is_set():
            if _succeeds(connect):
                self._closed.set()
                log.info("database_returned", seconds=round(monotonic() - self._opened_at, 1))
            else:
                self._closed.wait(PROBE_SECONDS)


def _succeeds(connect: Connect) -> bool:
    try:
        connect().close()
    except Exception:  # the thread must survive any error
        return False
    return True
