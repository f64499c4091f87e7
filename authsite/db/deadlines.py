"""A limit for the wait of psycopg's cursors, which have none of their own.

A server that hangs does not end a statement (statement_timeout), nor does the connection break. A
thread then shuts the socket down, and the driver reports a lost connection.
"""

import os
import socket
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from time import monotonic
from typing import Any

import structlog
from sqlalchemy import Connection, Engine, event
from sqlalchemy.pool import ConnectionPoolEntry

from .prepared_connections import RESULT_TIMEOUT

log = structlog.get_logger("authsite.db")

CHECK_SECONDS = 0.2


class Deadlines:
    """Ends connections on which a statement or a COMMIT takes longer than `RESULT_TIMEOUT`.

    ``on_timeout`` is called with each of them. A connection that has set a statement_timeout of its
    own (a migration) has no deadline until it is back in the pool.
    """

    def __init__(self, on_timeout: Callable[[Any], None]) -> None:
        self._on_timeout = on_timeout
        self._running: dict[int, tuple[int, float, Any]] = {}  # process, deadline, connection
        self._wake = threading.Event()
        self._process = 0

    def listen(self, engine: Engine) -> None:
        """Watch the connections of ``engine``."""
        event.listen(engine, "before_cursor_execute", self._before)
        event.listen(engine, "after_cursor_execute", self._after)
        event.listen(engine, "commit", self._begin)
        event.listen(engine, "rollback", self._begin)
        event.listen(engine, "checkin", self._checkin)

    def _before(
        self, connection: Connection, _cursor: object, statement: str, *_more: object
    ) -> None:
        if "statement_timeout" in statement:
            connection.info["without_deadline"] = True
        self._begin(connection)

    def _begin(self, connection: Connection) -> None:
        if connection.invalidated or "without_deadline" in connection.info:
            return
        driver_connection = connection.connection.dbapi_connection
        process, deadline = os.getpid(), monotonic() + RESULT_TIMEOUT
        self._running[id(driver_connection)] = process, deadline, driver_connection
        if self._process != process:
            self._process = process
            threading.Thread(target=self._watch, name="authsite-deadlines", daemon=True).start()
        self._wake.set()

    def _after(self, connection: Connection, *_more: object) -> None:
        self._running.pop(id(connection.connection.dbapi_connection), None)

    def _checkin(self, driver_connection: object, record: ConnectionPoolEntry) -> None:
        record.info.pop("without_deadline", None)
        self._running.pop(id(driver_connection), None)

    def _watch(self) -> None:
        while True:
            self._wake.wait()
            self._wake.clear()
            while self._running:
                time.sleep(CHECK_SECONDS)
                now = monotonic()
                for key, (process, deadline, driver_connection) in list(self._running.items()):
                    if process != os.getpid():  # of the process that this one was forked from
                        self._running.pop(key, None)
                    elif now > deadline:
                        self._running.pop(key, None)
                        self._end(driver_connection)

    def _end(self, driver_connection: Any) -> None:
        try:
            if _is_waiting(driver_connection):
                try:
                    self._on_timeout(driver_connection)
                finally:
                    _shut_down(driver_connection)
        except Exception as error:  # the thread watches the other connections, too
            log.error("deadline_failed", error=type(error).__name__)


def _is_waiting(driver_connection: Any) -> bool:
    """Whether a statement runs; not after one that failed, and not on a closed connection."""
    return bool(driver_connection.info.transaction_status.name == "ACTIVE")


def _shut_down(driver_connection: Any) -> None:
    with (
        suppress(Exception),  # it has just been closed
        socket.socket(fileno=os.dup(driver_connection.fileno())) as end,
    ):
        end.shutdown(socket.SHUT_RDWR)
