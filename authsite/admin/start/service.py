"""The numbers of a day, at a cost that has a limit."""

from collections import Counter
from collections.abc import Collection
from datetime import timedelta
from typing import NamedTuple

from sqlalchemy import func, select

from authsite.platform.audit.events import Event
from authsite.platform.audit.models import AuditEvent
from authsite.platform.context import Context
from authsite.platform.mail.outbox import OutboxMessage
from authsite.platform.runtime import clock

DAY = timedelta(hours=24)
OLDEST_MAIL = 7 * DAY
MAX_COUNTED = 1000
MAX_READ = 20_000  # events
SIGN_INS = (Event.SESSION_BEGUN, Event.TOKEN_ISSUED)
FAILURES = (Event.LOGIN_FAILED, Event.FACTOR_FAILED)
LOCKOUTS = (Event.LOGIN_LOCKED, Event.FACTOR_LOCKED, Event.REAUTHENTICATION_LOCKED)


class Count(NamedTuple):
    """A number of at most `MAX_COUNTED`. ``more``: there are, or may be, more."""

    number: int
    more: bool


class Day(NamedTuple):
    """What happened within the last 24 hours."""

    sign_ins: Count
    failures: Count
    lockouts: Count
    dead_mails: Count


def last_day(ctx: Context) -> Day:
    """Count events of the last 24 hours: the newest `MAX_READ` of them, so that it takes no longer.

    On a site with more events than that, each number is a lower bound.
    """
    since = clock.now() - DAY
    newest = (
        select(AuditEvent.event)
        .where(AuditEvent.at > since)
        .order_by(AuditEvent.at.desc())
        .limit(MAX_READ)
        .subquery()
    )
    query = select(newest.c.event, func.count()).group_by(newest.c.event)
    found: Counter[str] = Counter(dict(ctx.db.execute(query).tuples().all()))
    cut = found.total() >= MAX_READ
    return Day(
        _sum(found, SIGN_INS, cut),
        _sum(found, FAILURES, cut),
        _sum(found, LOCKOUTS, cut),
        _dead_mails(ctx),
    )


def _sum(found: Counter[str], events: Collection[Event], cut: bool) -> Count:
    number = sum(found[event] for event in events)
    return Count(min(number, MAX_COUNTED), cut or number > MAX_COUNTED)


def _dead_mails(ctx: Context) -> Count:
    """Those that were given up within the day: mails are tried for a day, or another by hand."""
    now = clock.now()
    dead = (
        select(OutboxMessage.id)
        .where(
            OutboxMessage.created_at > now - OLDEST_MAIL,
            OutboxMessage.state == "dead",
            OutboxMessage.ended_at > now - DAY,
        )
        .limit(MAX_COUNTED + 1)
        .subquery()
    )
    number = ctx.db.scalar(select(func.count()).select_from(dead)) or 0
    return Count(min(number, MAX_COUNTED), number > MAX_COUNTED)
