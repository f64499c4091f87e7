"""Sending what is due, in batches, for as long as it is wanted.

The outbox is asked every second. A wake-up from the request would save half of that, and let the
speed of the next answer tell that a letter is being made.
"""

import os
import secrets
import socket
from collections import Counter
from dataclasses import dataclass
from datetime import timedelta
from threading import Event
from typing import Any

import structlog
from sqlalchemy.exc import SQLAlchemyError

from authsite import clock

from .delivery import SERVER_DELAYS, Sender, attempt, failed, jittered
from .leases import Outcome, claim, release, settle
from .transports import LeaseLost, Unreachable, open_transport

log = structlog.get_logger("authsite.outbox")

POLL = 1.0  # seconds


def open_sender(registry: Any) -> Sender:
    """A sender with the letters, settings and database of an application's registry."""
    cfg = registry["authsite.settings"]
    return Sender(
        database=registry["authsite.database"],
        cfg=cfg,
        letters=registry["authsite.letters"],
        transport=open_transport(cfg),
        owner=f"{socket.gethostname()[:40]}-{os.getpid()}-{secrets.token_hex(4)}",
    )


def send_batch(sender: Sender, stop: Event, done: Counter[str]) -> int:
    """Send at most 20 letters that are due; how many were claimed.

    ``done`` counts the states that they ended in. Raises `Unreachable` when no letter can leave
    now (the rest of the batch is free again), and SQLAlchemy's errors; neither loses a letter.
    """
    _settle(sender)  # first what the database would not take last time
    rows = claim(sender.database, clock.now(), sender.owner)
    ids = [row.id for row in rows]
    for row in rows:
        if stop.is_set():
            release(sender.database, sender.owner, ids)
            break
        try:
            _note(sender, attempt(sender, row), done)
        except LeaseLost:
            continue
        except Unreachable as error:
            again = failed(row, clock.now(), str(error), SERVER_DELAYS)
            _note(sender, again, Counter())  # no answer: it counts for nothing
            release(sender.database, sender.owner, ids)
            raise
    return len(rows)


@dataclass(frozen=True, slots=True)
class Trouble:
    """Why nothing can be sent at present, and how long to wait before the next try."""

    kind: str = ""
    pause: timedelta = timedelta()


def run(sender: Sender, stop: Event) -> None:
    """Send until ``stop`` is set. Outlives every trouble, and logs each once when it begins."""
    trouble = Trouble()
    while not stop.is_set():
        done: Counter[str] = Counter()
        try:
            busy = send_batch(sender, stop, done)
        except Exception as error:  # also a bug: the thread must not end with it
            trouble = _worse(_better(trouble, done), error)
            stop.wait(jittered(trouble.pause).total_seconds())
        else:
            trouble = _better(trouble, done, over="database")
            if not busy:
                stop.wait(POLL)


def _worse(trouble: Trouble, error: Exception) -> Trouble:
    """The trouble after ``error``: the pause doubles while it stays the same."""
    shortest, longest = SERVER_DELAYS
    cause: dict[str, Any]
    match error:
        case Unreachable():
            kind, cause = "mail_server", {"reason": str(error)}
        case SQLAlchemyError():
            kind, cause = "database", {"reason": type(error).__name__}
        case _:
            kind, cause = "bug", {"exc_info": error}
    if kind == trouble.kind:
        return Trouble(kind, min(trouble.pause * 2, longest))
    log.warning("mail_waits", trouble=kind, **cause)
    return Trouble(kind, shortest)


def _better(trouble: Trouble, done: Counter[str], over: str = "") -> Trouble:
    """The trouble after a round: gone when the mail server answered, or when it was ``over``.

    An expired letter is no answer, and neither is an empty outbox.
    """
    answered = done.keys() - {"expired"}
    if not trouble.kind or not (answered or trouble.kind == over):
        return trouble
    log.info("mail_leaves_again", trouble=trouble.kind)
    return Trouble()


def _note(sender: Sender, outcome: Outcome, done: Counter[str]) -> None:
    done[outcome.state] += 1
    sender.unsettled.append(outcome)
    _settle(sender)


def _settle(sender: Sender) -> None:
    if sender.unsettled:
        settle(sender.database, sender.owner, sender.unsettled)
        sender.unsettled.clear()
