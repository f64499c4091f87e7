"""Send the mails that are due, in batches: build, hand to the transport, record the outcome.

The sender polls the outbox every second. A notification by the request would save half of that, but
the time of the next answer would then reveal that a mail is being made.
"""

import os
import secrets
import socket
from collections import Counter
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from threading import Event

import structlog
from sqlalchemy.exc import SQLAlchemyError

from authsite.platform.context import Job, Services
from authsite.platform.runtime import clock
from authsite.platform.runtime.counters import MAILS, TASK_SUCCESS
from authsite.platform.runtime.spans import span

from .leases import ClaimedMail, Outcome, claim, record_outcomes, release, renew
from .message import MAIL_BUILDERS, MailJob, compose, render
from .outbox import KEEP_TRYING, without_address
from .transports import (
    MIN_LEASE_AT_SEND,
    LeaseLost,
    PermanentFailure,
    SenderRejected,
    TemporaryFailure,
    Transport,
    Unreachable,
)
from .transports.driver import open_transport

# When a mail that could not be delivered is tried again, and when it is given up.


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


POLL = 1.0  # seconds
STOP_TIMEOUT = 5.0  # seconds; a delivery that is interrupted is repeated and may arrive twice


@dataclass(slots=True)
class Sender:
    """What a sender works with, and the outcomes that it could not write to the database yet."""

    services: Services
    transport: Transport
    owner: str
    pending_outcomes: list[Outcome] = field(default_factory=list)


def make_job(services: Services) -> Job:
    """The background task that sends the application's mails."""
    stop = Event()
    # A server may fork several processes after this. With a common sender each would take the mails
    # that another is sending for its own.
    return Job(lambda: run(open_sender(services), stop), stop.set, STOP_TIMEOUT)


def open_sender(services: Services) -> Sender:
    """A sender with the mail builders, settings and database of an application."""
    return Sender(
        services=services,
        transport=open_transport(services.settings, services.mail_copies),
        owner=f"{socket.gethostname()[:40]}-{os.getpid()}-{secrets.token_hex(4)}",
    )


def send_batch(sender: Sender, stop: Event, done: Counter[str]) -> int:
    """Send up to 20 mails that are due; return how many were claimed.

    ``done`` counts the states of the outcomes. Raises `Unreachable` when no mail can be sent now
    (the leases of the rest of the batch are released), and SQLAlchemy's errors; neither loses a
    mail.
    """
    _write_outcomes(sender)  # those that the database did not accept last time
    rows = claim(sender.services.database, clock.now(), sender.owner)
    ids = [row.id for row in rows]
    for row in rows:
        if stop.is_set():
            release(sender.services.database, sender.owner, ids)
            break
        try:
            outcome = deliver(sender, row)
        except LeaseLost:
            continue
        except Unreachable as error:
            _record(sender, retry_outcome(row, clock.now(), str(error), SERVER_DELAYS))
            release(sender.services.database, sender.owner, ids)
            raise
        done[outcome.state] += 1
        _record(sender, outcome)
    return len(rows)


def deliver(sender: Sender, row: ClaimedMail) -> Outcome:
    """Try to send one mail. No transaction is open during this.

    Raises `Unreachable` when no mail can be sent now, `LeaseLost`, and SQLAlchemy's errors.
    """
    services, now = sender.services, clock.now()
    if row.expires_at is not None and row.expires_at <= now:
        return Outcome(row.id, "expired", now, "its link would not work any more")
    build = MAIL_BUILDERS.of(services).get(row.kind)
    if build is None:
        return retry_outcome(row, now, f"this version has no mail {row.kind!r}")
    try:
        content = build(MailJob(services, row, now))
        if content is None:
            return Outcome(row.id, "expired", now, "not needed any more")
        rendered = render(content, row, services.settings, now)
        mail = compose(row, rendered, services.settings, now)
        with span("send mail"):
            sender.transport(mail, lambda: _ensure_lease(sender, row))
    except PermanentFailure as error:
        log.warning("mail_rejected", mail=str(row.id), kind=row.kind, reason=_reason(row, error))
        return Outcome(row.id, "dead", clock.now(), f"refused: {error}")
    except SenderRejected as error:
        reason = _reason(row, error)
        log.warning("mail_sender_rejected", mail=str(row.id), kind=row.kind, reason=reason)
        return retry_outcome(row, clock.now(), f"we may not send: {error}")
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


def _reason(row: ClaimedMail, error: Exception) -> str:
    """The server's words, without the address: it is not for the log."""
    return without_address(row.address, str(error))


def _ensure_lease(sender: Sender, row: ClaimedMail) -> None:
    """Extend the lease if it could end before the transport does. Raises `LeaseLost`."""
    now = clock.now()
    if row.lease_until - now >= MIN_LEASE_AT_SEND:
        return
    if not renew(sender.services.database, now, sender.owner, row.id):
        raise LeaseLost


@dataclass(frozen=True, slots=True)
class Outage:
    """Why nothing can be sent at present, and the pause before the next try; "" for no outage."""

    cause: str = ""
    pause: timedelta = timedelta()


def run(sender: Sender, stop: Event) -> None:
    """Send until ``stop`` is set. Survives every error, and logs an outage once when it begins."""
    TASK_SUCCESS.begin("mail")
    outage = Outage()
    while not stop.is_set():
        done: Counter[str] = Counter()
        try:
            claimed = send_batch(sender, stop, done)
        except Exception as error:  # also a bug: the thread must not end with it
            outage = _after_error(_after_batch(outage, done), error)
            stop.wait(jittered(outage.pause).total_seconds())
        else:
            outage = _after_batch(outage, done, ended="database")
            TASK_SUCCESS.note("mail")
            if not claimed:
                stop.wait(POLL)


def _after_error(outage: Outage, error: Exception) -> Outage:
    """The outage after ``error``: the pause doubles while the cause stays the same."""
    shortest, longest = SERVER_DELAYS
    details: dict[str, str | Exception]
    match error:
        case Unreachable():
            cause, details = "mail_server", {"reason": str(error)}
        case SQLAlchemyError():
            cause, details = "database", {"reason": type(error).__name__}
        case _:
            cause, details = "bug", {"exc_info": error}
    if cause == outage.cause:
        return Outage(cause, min(outage.pause * 2, longest))
    log.warning("mail_sending_paused", cause=cause, **details)
    return Outage(cause, shortest)


def _after_batch(outage: Outage, done: Counter[str], ended: str = "") -> Outage:
    """The outage after a batch: over if the mail server replied, or if its cause has ``ended``.

    Expired mails do not count: they are not handed to the mail server.
    """
    server_replied = done.keys() - {"expired"}
    if not outage.cause or not (server_replied or outage.cause == ended):
        return outage
    log.info("mail_sending_resumed", cause=outage.cause)
    return Outage()


def _record(sender: Sender, outcome: Outcome) -> None:
    MAILS.add(outcome.state)
    sender.pending_outcomes.append(outcome)
    _write_outcomes(sender)


def _write_outcomes(sender: Sender) -> None:
    if sender.pending_outcomes:
        record_outcomes(sender.services.database, sender.owner, sender.pending_outcomes)
        sender.pending_outcomes.clear()
