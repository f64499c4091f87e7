"""The connections of a process to one standby; `standbys` says what they are for."""

from collections import deque
from collections.abc import Callable
from contextlib import suppress

import structlog
from sqlalchemy import Dialect
from sqlalchemy.engine import make_url

from .engine import connect_options, open_connection
from .libpq import PostgreSQLConnection, behind_pooler

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
