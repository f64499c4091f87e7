"""The running counters of a user, in whatever storage the limits are counted.

In the database one statement finds them. A storage on the network has no such question: there each
key under which a limit may count the user is read by itself.
"""

from collections.abc import Collection, Iterator, Sequence
from datetime import UTC, datetime
from typing import NamedTuple

from sqlalchemy import delete, select

from authsite.platform.context import Context

from . import caller_limits
from .limiter import RateLimiter, make_limiter
from .storage import LimitCounter


class Running(NamedTuple):
    """A counter, with the key under which it is stored."""

    key: str
    number: int
    expires_at: datetime


def find(ctx: Context, subjects: Collection[str]) -> Sequence[Running]:
    """The counters of ``subjects`` alone: the subject of a user, and login names.

    Those that combine one with an address are found only by someone who has that address.
    """
    limiter = _limiter(ctx)
    if _in_database(ctx):
        columns = LimitCounter.key, LimitCounter.count, LimitCounter.expires_at
        query = select(*columns).where(LimitCounter.key.in_(_keys(limiter, subjects)))
        return [Running(*row) for row in ctx.db.execute(query.order_by(LimitCounter.key))]
    return sorted(_read(limiter, subjects))


def end(ctx: Context, subjects: Collection[str]) -> int:
    """Delete the counters of ``subjects``, lockouts too; how many there were.

    In the database with the transaction, elsewhere at once.
    """
    limiter = _limiter(ctx)
    if _in_database(ctx):
        ended = ctx.db.scalars(
            delete(LimitCounter)
            .where(LimitCounter.key.in_(_keys(limiter, subjects)))
            .returning(LimitCounter.key)
            .execution_options(synchronize_session=False)
        )
        return len(ended.all())
    found = list(_read(limiter, subjects))
    for each in found:
        limiter.storage.clear(each.key)
    return len(found)


def _limiter(ctx: Context) -> RateLimiter:
    """That of the process; a command has none."""
    return ctx.services.rate_limits or make_limiter(ctx.settings, ctx.database)


def _in_database(ctx: Context) -> bool:
    return ctx.settings.limits_storage.reveal() == "database"


def _keys(limiter: RateLimiter, subjects: Collection[str]) -> list[str]:
    return [key for each in subjects for key in caller_limits.keys_of(limiter, each)]


def _read(limiter: RateLimiter, subjects: Collection[str]) -> Iterator[Running]:
    for subject in subjects:
        for key in caller_limits.running_keys_of(limiter, subject):
            if count := limiter.storage.get(key):
                end_ = datetime.fromtimestamp(limiter.storage.get_expiry(key), UTC)
                yield Running(key, count, end_)
