"""The query of the web guard: an active browser session and its user.

A session is active while it is neither idle nor old for too long, its user is enabled, and the
epoch that was copied into it is the user's: raising the epoch ends all sessions of the user.
"""

import uuid
from datetime import datetime, timedelta
from typing import NamedTuple, cast

from sqlalchemy import Table, bindparam, select

from authsite.platform.db import PreparedQuery
from authsite.platform.db.last_used import LastUsedTracker
from authsite.platform.db.prepared import Reader
from authsite.users.account import ACCOUNT_COLUMNS, Account
from authsite.users.models import User, user_of

from .models import BrowserSession

WRITE_DELAY = timedelta(minutes=3)  # a noted use is written within this time

SESSIONS = cast(Table, BrowserSession.__table__)


class ActiveBrowserSession(NamedTuple):
    """A browser session and its user. ``auth_at``: when the user proved to be who they are."""

    id: uuid.UUID
    used_at: datetime
    remember: bool
    expires_at: datetime
    facts: str | None
    auth_at: datetime
    account: Account

    def ends_at(self, idle: timedelta) -> datetime:
        """When the session ends by itself, unless it is used before; ``idle``: `session-idle`."""
        if self.remember:
            return self.expires_at
        return min(self.expires_at, self.used_at + idle)


# The user of a session that no raised epoch has ended.
ACTIVE_USER = user_of(BrowserSession)
ACTIVE_SESSION = PreparedQuery(
    select(
        BrowserSession.id,
        BrowserSession.used_at,
        BrowserSession.remember,
        BrowserSession.expires_at,
        BrowserSession.facts,
        BrowserSession.auth_at,
        *ACCOUNT_COLUMNS,
    )
    .join(User, ACTIVE_USER)
    .where(BrowserSession.key_hash == bindparam("key_hash")),
    ActiveBrowserSession,
)


def find_active(
    reader: Reader, last_used: LastUsedTracker, row_hash: str, now: datetime, idle: timedelta
) -> ActiveBrowserSession | None:
    """The active session whose row has this hash, or None; notes in ``last_used`` that it is used.

    ``row_hash``: see `authsite.sign_in.sessions.service`. ``idle``: setting `session-idle`.
    """
    session = ACTIVE_SESSION.read(reader, key_hash=row_hash)
    if session is None:
        return None
    ends_at = session.ends_at(idle)
    if ends_at <= now:
        return None
    # Other processes read the last use from the row: just before the timeout it is written at once.
    urgent = ends_at <= now + WRITE_DELAY
    last_used.note(SESSIONS, session.id, session.used_at, now, urgent=urgent)
    return session
