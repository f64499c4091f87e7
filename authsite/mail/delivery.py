"""One delivery attempt of one mail: build it, hand it to the transport, return the outcome."""

import secrets
from dataclasses import dataclass, field
from datetime import datetime, timedelta

import structlog
from sqlalchemy.exc import SQLAlchemyError

from authsite import clock
from authsite.context import Services
from authsite.spans import span

from .builder import MailJob
from .leases import ClaimedMail, Outcome, renew
from .message import compose
from .outbox import KEEP_TRYING
from .rendering import render
from .transports import (
    MIN_LEASE_AT_SEND,
    LeaseLost,
    PermanentFailure,
    TemporaryFailure,
    Transport,
    Unreachable,
)

log = structlog.get_logger("authsite.outbox")

Delays = tuple[timedelta, timedelta]  # the shortest and the longest
MAIL_DELAYS: Delays = (timedelta(seconds=10), timedelta(hours=1))
# During an outage the sender waits instead of the mails: all are sent within 30 seconds of its end.
SERVER_DELAYS: Delays = (timedelta(seconds=1), timedelta(seconds=30))


@dataclass(slots=True)
class Sender:
    """What a sender works with, and the outcomes that it could not write to the database yet."""

    services: Services
    transport: Transport
    owner: str
    pending_outcomes: list[Outcome] = field(default_factory=list)


def deliver(sender: Sender, row: ClaimedMail) -> Outcome:
    """Try to send one mail. No transaction is open meanwhile.

    Raises `Unreachable` when no mail can be sent now, `LeaseLost`, and SQLAlchemy's errors.
    """
    services, now = sender.services, clock.now()
    if row.expires_at is not None and row.expires_at <= now:
        return Outcome(row.id, "expired", now, "its link would not work any more")
    if row.kind not in services.extensions.mail_builders:
        return retry_outcome(row, now, f"this version has no mail {row.kind!r}")
    try:
        content = services.extensions.mail_builders[row.kind](MailJob(services, row, now))
        if content is None:
            return Outcome(row.id, "expired", now, "not needed any more")
        rendered = render(content, row, services.settings, now)
        mail = compose(row, rendered, services.settings, now)
        with span("send mail"):
            sender.transport(mail, lambda: _ensure_lease(sender, row))
    except PermanentFailure as error:
        log.warning("mail_rejected", mail=str(row.id), kind=row.kind)
        return Outcome(row.id, "dead", clock.now(), f"refused: {error}")
    except TemporaryFailure as error:
        return retry_outcome(row, clock.now(), f"not now: {error}")
    except (Unreachable, LeaseLost, SQLAlchemyError):
        raise
    except Exception as error:  # a bug in one mail must not delay the others
        log.exception("mail_failed", mail=str(row.id), kind=row.kind)
        # Without the message, which may contain the link.
        return retry_outcome(row, clock.now(), f"{type(error).__name__}, see the log")
    log.info("mail_sent", mail=str(row.id), kind=row.kind)
    return Outcome(row.id, "sent", clock.now())


def retry_outcome(
    row: ClaimedMail, now: datetime, reason: str, delays: Delays = MAIL_DELAYS
) -> Outcome:
    """The outcome of a failed attempt that is repeated, after a fifteenth of the mail's age.

    The delay grows from 10 seconds to 40 seconds after ten minutes, and to an hour; so a mail that
    was deferred for a short time is sent within a minute of the end of the cause. After 24 hours
    the outcome is ``dead``.
    """
    if now >= row.give_up_at:
        log.warning("mail_dead", mail=str(row.id), kind=row.kind)
        return Outcome(row.id, "dead", now, f"given up after 24 hours: {reason}")
    age = now - (row.give_up_at - KEEP_TRYING)
    shortest, longest = delays
    delay = jittered(min(max(age / 15, shortest), longest))
    return Outcome(row.id, "waiting", now, reason, next_attempt_at=now + delay)


def jittered(delay: timedelta) -> timedelta:
    """``delay`` plus or minus up to 20 %, so that attempts that failed together spread out."""
    return delay * (0.8 + secrets.randbelow(4001) / 10000)


def _ensure_lease(sender: Sender, row: ClaimedMail) -> None:
    """Extend the lease if it could end before the transport does. Raises `LeaseLost`."""
    now = clock.now()
    if row.lease_until - now >= MIN_LEASE_AT_SEND:
        return
    if not renew(sender.services.database, now, sender.owner, row.id):
        raise LeaseLost
