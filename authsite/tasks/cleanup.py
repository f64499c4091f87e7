"""The parts of a cleanup, deleted in batches with a pause after each."""

from collections.abc import Callable, Iterator
from datetime import datetime
from time import perf_counter
from typing import NamedTuple

from sqlalchemy import Connection

from authsite import clock
from authsite.audit.purge import purge as audit
from authsite.db.batches import Batch
from authsite.mail.outbox import purge as mails
from authsite.oauth.purge import purge as families
from authsite.oauth.purge import purge_personal_tokens as personal_tokens
from authsite.rate_limit.purge import purge as counters
from authsite.sessions.purge import purge as sessions
from authsite.settings import Settings
from authsite.sign_in.pending import purge as pending_logins
from authsite.users.former import purge as former_addresses

REST = 4.0  # times the duration of the batch, in which only requests use the database
PER_ROW = 0.0001  # additional seconds per deleted row, until its page is written to the disk
LONGEST_REST = 1.0  # seconds


class Part(NamedTuple):
    """What one package purges."""

    name: str  # in the log and for scripts
    label: str  # for people
    when: str
    batches: Callable[[Connection, datetime, Settings], Iterator[Batch]]


PARTS = (
    Part("families", "Token families", "expired, or revoked a week ago", families),
    Part(
        "personal_tokens",
        "Personal access tokens",
        "expired, or revoked a week ago",
        personal_tokens,
    ),
    Part("sessions", "Web sessions", "idle or old for too long", sessions),
    Part("pending_logins", "Pending logins", "expired", pending_logins),
    Part("mails", "Mails", "sent or dropped a week ago, or dead for a month", mails),
    Part("former_addresses", "Former addresses", "no longer restorable", former_addresses),
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
        return min(REST * self.seconds + PER_ROW * self.deleted, LONGEST_REST)


def steps(connection: Connection, cfg: Settings) -> Iterator[Step]:
    """Purge all parts, one batch per step. The caller pauses after each step, or stops.

    ``connection`` must be in AUTOCOMMIT. Raises SQLAlchemy's errors.
    """
    for part in PARTS:
        batches = part.batches(connection, clock.now(), cfg)
        while True:
            began = perf_counter()
            batch = next(batches, None)
            if batch is None:
                break
            yield Step(part, *batch, perf_counter() - began)
