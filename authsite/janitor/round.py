"""One round: what every room purges and when, in batches with a rest after each."""

from collections.abc import Callable, Iterator
from datetime import datetime
from time import perf_counter
from typing import NamedTuple

from sqlalchemy import Connection

from authsite import clock
from authsite.audit.purge import purge as audit
from authsite.db.batches import Batch
from authsite.login.purge import purge as sessions
from authsite.mail.purge import purge as mails
from authsite.oauth.purge import purge as families
from authsite.settings import Settings
from authsite.throttle.purge import purge as counters

REST = 4.0  # times as long as the batch took: requests have the database to themselves meanwhile
SETTLING = 0.0001  # seconds more for each row deleted: its page is still to be written to the disk
LONGEST_REST = 1.0  # seconds


class Part(NamedTuple):
    """What one room purges."""

    name: str  # in the log and for scripts
    label: str  # for people
    when: str
    batches: Callable[[Connection, datetime, Settings], Iterator[Batch]]


PARTS = (
    Part("families", "Token families", "expired, or revoked a week ago", families),
    Part("sessions", "Web sessions", "idle or old for too long", sessions),
    Part("mails", "Mails", "sent or dropped a week ago, or dead for a month", mails),
    Part("counters", "Counters of limits", "window over", counters),
    Part("audit", "Audit trail", "older than audit-keep", audit),
)


class Step(NamedTuple):
    """One batch of one part, and the seconds that it took."""

    part: Part
    deleted: int
    done: float  # of the part, from 0 to 1
    seconds: float

    @property
    def rest(self) -> float:
        """How many seconds to wait before the next step."""
        return min(REST * self.seconds + SETTLING * self.deleted, LONGEST_REST)


def steps(connection: Connection, cfg: Settings) -> Iterator[Step]:
    """Purge everything, a batch for each step; the caller rests, or ends it where it likes.

    ``connection`` is one in AUTOCOMMIT. Raises SQLAlchemy's errors.
    """
    for part in PARTS:
        batches = part.batches(connection, clock.now(), cfg)
        while True:
            began = perf_counter()
            batch = next(batches, None)
            if batch is None:
                break
            yield Step(part, *batch, perf_counter() - began)
