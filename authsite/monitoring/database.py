"""What the probes and the metrics read from the database, and only again after some seconds."""

from datetime import datetime, timedelta
from typing import NamedTuple

from sqlalchemy import bindparam, column, func, select, table, true
from sqlalchemy.exc import ProgrammingError, SQLAlchemyError

from authsite.platform.db import Database, PreparedQuery, migrate
from authsite.platform.db.base import database_now
from authsite.platform.installation.features import FEATURES, UsedFeature
from authsite.platform.mail.outbox import KEEP_TRYING, WAITING, OutboxMessage
from authsite.platform.runtime import clock
from authsite.platform.runtime.cached import Cached

DATABASE = "database"
SCHEMA_BEHIND = "schema behind"
UNKNOWN_FEATURE = "unknown feature: {name}"
CLOCK_OFF = "clock: {seconds:.0f} s {direction} the database's"


class Health(NamedTuple):
    """What a process knows of itself and of its database.

    ``obstacles``: why requests cannot be served. ``warnings``: what is wrong while they can be.
    ``clock_offset``: how far this machine's clock is ahead of the database's; None if unknown.
    """

    obstacles: list[str]
    warnings: list[str]
    clock_offset: timedelta | None


class Monitoring:
    """``registry["authsite.monitoring"]``: what was read from the database a moment ago."""

    def __init__(self, database: Database) -> None:
        self.health = Cached(lambda: health(database), seconds=1)
        self.outbox = Cached(lambda: outbox_numbers(database), seconds=15)


class _State(NamedTuple):
    version_num: str
    now: datetime
    name: str | None
    """Of a used feature; there is a row for each."""


# A prepared query, since the wait for its result is limited also if the server hangs.
_VERSION = table(migrate.VERSION_TABLE, column("version_num"))
_STATE = PreparedQuery(
    select(_VERSION.c.version_num, database_now().label("now"), UsedFeature.name)
    .select_from(_VERSION.outerjoin(UsedFeature, true()))
    .order_by(UsedFeature.name),
    _State,
)


def health(database: Database) -> Health:
    """What one query says of the database, without details.

    The obstacles are `DATABASE`, `SCHEMA_BEHIND`, or `UNKNOWN_FEATURE` for each feature that is
    used and that this version does not know. A schema that is newer than this code is not one
    (`migrate.SchemaState`). A clock that is off is a warning: a wrong clock of the database must
    not take every process away.
    """
    began = clock.now()
    try:
        rows = _STATE.all(database)
    except SQLAlchemyError as error:
        return Health([SCHEMA_BEHIND if _lacks_table(error) else DATABASE], [], None)
    if not rows or rows[0].version_num in migrate.unusable():
        return Health([SCHEMA_BEHIND], [], None)
    ended = clock.now()
    offset = began + (ended - began) / 2 - rows[0].now
    names = [row.name for row in rows if row.name is not None]
    unknown = [UNKNOWN_FEATURE.format(name=name) for name in names if name not in FEATURES]
    return Health(unknown, _clock_warnings(offset), offset)


def _clock_warnings(offset: timedelta) -> list[str]:
    if abs(offset) <= clock.MAX_OFFSET:
        return []
    seconds = offset.total_seconds()
    direction = "ahead of" if seconds > 0 else "behind"
    return [CLOCK_OFF.format(seconds=abs(seconds), direction=direction)]


def _lacks_table(error: SQLAlchemyError) -> bool:
    """Whether the database works and has no version table, or not that of used features."""
    return isinstance(error, ProgrammingError) or "no such table" in str(error)


class OutboxNumbers(NamedTuple):
    """What waits in the outbox; the ages are 0 without such a mail."""

    mails: int
    oldest_seconds: float
    """The age of the oldest mail that waits."""
    due_seconds: float
    """For how long the sender should have tried a mail already."""


class _Waiting(NamedTuple):
    mails: int
    created: datetime | None
    due: datetime | None


_WAITING = PreparedQuery(
    select(
        func.count().label("mails"),
        func.min(OutboxMessage.created_at).label("created"),
        func.min(OutboxMessage.next_attempt_at).label("due"),
    ).where(WAITING, OutboxMessage.next_attempt_at <= bindparam("until")),
    _Waiting,
)


def outbox_numbers(database: Database) -> OutboxNumbers | None:
    """The numbers now; None if the database does not answer."""
    now = clock.now()
    try:
        # All of them: a mail waits a day at most. With a range every database uses the index.
        waiting = _WAITING.one(database, until=now + 2 * KEEP_TRYING)
    except SQLAlchemyError:
        return None
    if waiting is None:
        return None
    return OutboxNumbers(waiting.mails, _age(now, waiting.created), _age(now, waiting.due))


def _age(now: datetime, moment: datetime | None) -> float:
    return max(0.0, (now - moment).total_seconds()) if moment else 0.0
