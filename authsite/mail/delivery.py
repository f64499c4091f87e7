"""One attempt at one letter: make it, hand it over, and say what became of it."""

import secrets
from dataclasses import dataclass, field
from datetime import datetime, timedelta

import structlog
from sqlalchemy.exc import SQLAlchemyError

from authsite import clock
from authsite.db import Database
from authsite.settings import Settings

from .leases import Claimed, Outcome, renew
from .letters import Desk, Letters
from .message import Mail, compose
from .outbox import KEEP_TRYING
from .rendering import render
from .transports import LeaseLost, NotNow, Refused, Transport, Unreachable
from .transports.transport import LAST_WORD_LEASE

log = structlog.get_logger("authsite.outbox")

Delays = tuple[timedelta, timedelta]  # the shortest and the longest
OWN_DELAYS: Delays = (timedelta(seconds=10), timedelta(hours=1))
# While no letter can leave, the sender waits, not the letter: half a minute and all leave.
SERVER_DELAYS: Delays = (timedelta(seconds=1), timedelta(seconds=30))


@dataclass(slots=True)
class Sender:
    """One sender: what it works with, and what it could not write down yet."""

    database: Database
    cfg: Settings
    letters: Letters
    transport: Transport
    owner: str
    unsettled: list[Outcome] = field(default_factory=list)


def attempt(sender: Sender, row: Claimed) -> Outcome:
    """Try to send one letter. No transaction is open meanwhile.

    Raises `Unreachable` when no letter could be sent now, `LeaseLost`, and SQLAlchemy's errors
    when the database does not answer.
    """
    now = clock.now()
    if row.expires_at is not None and row.expires_at <= now:
        return Outcome(row.id, "expired", now, "its link would not work any more")
    if row.letter not in sender.letters:
        return failed(row, now, f"this version knows no letter {row.letter!r}")
    try:
        mail = _write(sender, row, now)
        if mail is None:
            return Outcome(row.id, "expired", now, "not needed any more")
        sender.transport(mail, lambda: _hold(sender, row))
    except Refused as error:
        log.warning("mail_refused", mail=str(row.id), letter=row.letter)
        return Outcome(row.id, "dead", clock.now(), f"refused: {error}")
    except NotNow as error:
        return failed(row, clock.now(), f"not now: {error}")
    except (Unreachable, LeaseLost, SQLAlchemyError):
        raise
    except Exception as error:  # a bug in one letter must not hold up the others
        log.exception("mail_failed", mail=str(row.id), letter=row.letter)
        # Not its words: they may hold the link.
        return failed(row, clock.now(), f"{type(error).__name__}, see the log")
    log.info("mail_sent", mail=str(row.id), letter=row.letter)
    return Outcome(row.id, "sent", clock.now())


def failed(row: Claimed, now: datetime, reason: str, bounds: Delays = OWN_DELAYS) -> Outcome:
    """The outcome of an attempt to be repeated after a fifteenth of the letter's age.

    So the delay grows from 10 seconds over 40 after ten minutes to an hour, and a letter that was
    put off for a while leaves within a minute of the server's change of mind. After 24 hours it
    is dead.
    """
    if now >= row.give_up_at:
        log.warning("mail_dead", mail=str(row.id), letter=row.letter)
        return Outcome(row.id, "dead", now, f"given up after 24 hours: {reason}")
    age = now - (row.give_up_at - KEEP_TRYING)
    shortest, longest = bounds
    delay = jittered(min(max(age / 15, shortest), longest))
    return Outcome(row.id, "waiting", now, reason, next_attempt_at=now + delay)


def jittered(delay: timedelta) -> timedelta:
    """``delay`` give or take a fifth: what failed together does not come back together."""
    return delay * (0.8 + secrets.randbelow(4001) / 10000)


def _write(sender: Sender, row: Claimed, now: datetime) -> Mail | None:
    letter = sender.letters[row.letter](Desk(sender.database, sender.cfg, row, now))
    if letter is None:
        return None
    return compose(row, render(letter, row, sender.cfg, now), sender.cfg, now)


def _hold(sender: Sender, row: Claimed) -> None:
    """See to it that the lease outlasts what is left of the attempt."""
    now = clock.now()
    if row.lease_until - now >= LAST_WORD_LEASE:
        return
    if not renew(sender.database, now, sender.owner, row.id):
        raise LeaseLost
