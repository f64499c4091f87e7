"""When a mail that could not be delivered is tried again, and when it is given up."""

import secrets
from datetime import datetime, timedelta

import structlog

from .leases import ClaimedMail, Outcome
from .listed import without_address
from .outbox import KEEP_TRYING

log = structlog.get_logger("authsite.outbox")

Delays = tuple[timedelta, timedelta]  # the shortest and the longest
MAIL_DELAYS: Delays = (timedelta(seconds=10), timedelta(hours=1))
# During an outage the sender waits instead of the mails: all are sent within 30 seconds of its end.
SERVER_DELAYS: Delays = (timedelta(seconds=1), timedelta(seconds=30))


def retry_outcome(
    row: ClaimedMail, now: datetime, reason: str, delays: Delays = MAIL_DELAYS
) -> Outcome:
    """The outcome of a failed attempt that is repeated, after a fifteenth of the mail's age.

    The delay grows from 10 seconds to 40 seconds after ten minutes, and to an hour; so a mail that
    was deferred for a short time is sent within a minute of the end of the cause. After 24 hours
    the outcome is ``dead``.
    """
    if now >= row.give_up_at:
        words = without_address(row.address, reason)
        log.warning("mail_dead", mail=str(row.id), kind=row.kind, reason=words)
        return Outcome(row.id, "dead", now, f"given up after 24 hours: {reason}")
    age = now - (row.give_up_at - KEEP_TRYING)
    shortest, longest = delays
    delay = jittered(min(max(age / 15, shortest), longest))
    return Outcome(row.id, "waiting", now, reason, next_attempt_at=now + delay)


def jittered(delay: timedelta) -> timedelta:
    """``delay`` plus or minus up to 20 %, so that attempts that failed together spread out."""
    return delay * (0.8 + secrets.randbelow(4001) / 10000)
