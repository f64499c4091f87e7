"""Send the mails that are due, in batches.

The sender polls the outbox every second. A notification by the request would save half of that, but
the time of the next answer would then reveal that a mail is being made.
"""

import os
import secrets
import socket
from collections import Counter
from dataclasses import dataclass
from datetime import timedelta
from threading import Event

import structlog
from sqlalchemy.exc import SQLAlchemyError

from authsite import clock
from authsite.context import Job, Services
from authsite.counters import MAILS, TASK_SUCCESS

from .delivery import SERVER_DELAYS, Sender, deliver, jittered, retry_outcome
from .leases import Outcome, claim, record_outcomes, release
from .transports import LeaseLost, Unreachable, open_transport

log = structlog.get_logger("authsite.outbox")

POLL = 1.0  # seconds
STOP_TIMEOUT = 5.0  # seconds; a delivery that is interrupted is repeated and may arrive twice


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
        transport=open_transport(services.settings),
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
