"""A time limit for statements on psycopg's cursors, which wait for a server without any limit.

A server that hangs does not apply its ``statement_timeout``, and its connections stay open. So a
thread shuts down the socket of a statement that takes too long. The driver then reports a lost
connection.
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

CHECK_SECONDS = 0.2  # between two checks of the deadlines


class Deadlines:
    """Ends connections on which a statement, COMMIT or ROLLBACK exceeds `RESULT_TIMEOUT`.

    ``on_timeout`` is called with the driver's connection before its socket is shut down. After a
    statement that sets ``statement_timeout``, as in a migration, a connection has no deadline until
    it returns to the pool.
    """

    def __init__(self, on_timeout: Callable[[Any], None]) -> None:
        self._on_timeout = on_timeout
        # By the id of the driver's connection: process, deadline and that connection.
        self._running: dict[int, tuple[int, float, Any]] = {}
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
                for key, running in list(self._running.items()):
                    process, deadline, driver_connection = running
                    if self._running.get(key) is not running:
                        continue  # this statement has ended in the meantime
                    if process != os.getpid():  # inherited when this process was forked
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
        except Exception as error:  # the thread must go on for the other connections
            log.error("deadline_failed", error=type(error).__name__)


def _is_waiting(driver_connection: Any) -> bool:
    """Whether the driver waits for the result of a statement.

    It does not after a statement that failed, which `Deadlines._after` does not see, and on a
    closed connection.
    """
    return bool(driver_connection.info.transaction_status.name == "ACTIVE")


def _shut_down(driver_connection: Any) -> None:
    with (
        suppress(Exception),  # another thread may have closed the connection in the meantime
        socket.socket(fileno=os.dup(driver_connection.fileno())) as duplicate,
    ):
        duplicate.shutdown(socket.SHUT_RDWR)
