"""The bucket ``login-account``: some free attempts, then one at a time after a growing delay.

Within one window the limit's number of attempts is free. The last of them closes the account for
one window; after that one attempt is let through, and closes it for twice as long, and so on up
to `LONGEST` seconds. Attempts that are refused change nothing, so nobody can keep an account
closed by knocking, and after a day the whole story is forgotten: in that day strangers had about
a hundred attempts (NIST SP 800-63B-4, section 3.2.2).

An attempt is taken before the password is looked at, so that a hundred at once cannot all be
"the fifth", and given back if it was right. Three keys hold this in any storage of the limits
library: ``k`` counts the free attempts, ``k/level`` how often the account was closed, ``k/<n>``
is the n-th closure: as long as it lasts, its count is above 0.
"""

from dataclasses import dataclass

from .errors import TooManyAttempts
from .limiter import Limiter, key_of, refusal

BUCKET = "login-account"
LONGEST = 15 * 60  # seconds
DAY = 24 * 60 * 60  # seconds


@dataclass(frozen=True, slots=True)
class Taken:
    """An attempt that was let through: at which level, and whether it closed the account."""

    key: str
    level: int
    closed: bool


def take(limiter: Limiter, *parts: str) -> Taken:
    """Take one attempt for ``parts``. Raises `TooManyAttempts`. Atomic over all processes."""
    storage, item = limiter.storage, limiter.values[BUCKET]
    key = key_of(limiter, BUCKET, *parts)
    level = storage.get(_level(key))
    window, free = (delay(limiter, level), 1) if level else (item.get_expiry(), item.amount)
    number = storage.incr(_closure(key, level), window)
    # Whoever comes first after a closure looks again: it may have ended because it was taken back.
    stale = level > 0 and number == free and storage.get(_level(key)) != level
    if number > free or stale:
        if stale or not level:
            storage.incr(_closure(key, level), window, -1)  # refused attempts leave no trace
        raise _closed(limiter, key, level)
    if number < free:
        return Taken(key, level, closed=False)
    # First close, then raise the level: in between, everybody still finds the old one used up.
    storage.incr(_closure(key, level + 1), delay(limiter, level + 1))
    storage.incr(_level(key), max(DAY, 2 * delay(limiter, level + 1)))
    return Taken(key, level, closed=True)


def give_back(limiter: Limiter, taken: Taken) -> None:
    """Make it as it was before the attempt: the level first, so that `take` can tell."""
    storage = limiter.storage
    if taken.closed:
        if taken.level:
            storage.incr(_level(taken.key), DAY, -1)
        else:
            storage.clear(_level(taken.key))
        storage.clear(_closure(taken.key, taken.level + 1))
    if taken.level:
        storage.clear(_closure(taken.key, taken.level))
    else:
        storage.incr(taken.key, limiter.values[BUCKET].get_expiry(), -1)


def forget(limiter: Limiter, *parts: str) -> None:
    """Begin anew: no attempts, no closure."""
    key = key_of(limiter, BUCKET, *parts)
    level = limiter.storage.get(_level(key))
    # Of the closures before this one, only the last can still be running.
    for ended in {0, max(0, level - 1), level}:
        limiter.storage.clear(_closure(key, ended))
    limiter.storage.clear(_level(key))


def delay(limiter: Limiter, level: int) -> int:
    """Seconds for which the account is closed the ``level``-th time."""
    window = limiter.values[BUCKET].get_expiry()
    return int(min(window * 2 ** (level - 1), max(window, LONGEST)))


def _closed(limiter: Limiter, key: str, level: int) -> TooManyAttempts:
    # At level 0 the account is being closed this very moment, by the last of the free attempts.
    return refusal(limiter, BUCKET, _closure(key, max(1, level)))


def _closure(key: str, level: int) -> str:
    return f"{key}/{level}" if level else key


def _level(key: str) -> str:
    return f"{key}/level"
