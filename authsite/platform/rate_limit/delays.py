"""Limits on password guessing: some free attempts, then one after each of growing lockouts.

The limits with ``growing_delay`` work like this, independently. Within one window the limit's
number of attempts is free. The last of them locks the account for one window; after that, one
attempt is allowed, which locks it for twice as long, and so on up to `LONGEST`
seconds. Rejected attempts do not extend the lockout, so an attacker cannot keep an account locked.
The state expires after a day, which bounds guessing to about 100 attempts a day (NIST SP 800-63B-4,
section 3.2.2).

An attempt is acquired before the password is checked, so that concurrent attempts are counted, and
refunded if the password was correct. Three kinds of keys store the state in any storage of the
limits library: ``k`` counts the free attempts, ``k/level`` the lockouts, and the count of ``k/<n>``
is above 0 while the n-th lockout lasts.
"""

from dataclasses import dataclass

from limits import RateLimitItem

from authsite.platform.runtime.counters import RATE_LIMITED
from authsite.platform.settings.rate_limits import RATE_LIMITS

from .limiter import RateLimiter, counted_by

LOGIN = "login-account"
LONGEST = 15 * 60  # seconds
LOCKING = tuple(name for name, limit in RATE_LIMITS.items() if limit.growing_delay)
LEVELS = 32  # to look for: more lockouts one after another take weeks
DAY = 24 * 60 * 60  # seconds


@dataclass(frozen=True, slots=True)
class Acquired:
    """An attempt within the limit: at which level, and whether it locked the account."""

    name: str
    key: str
    level: int
    locked: bool


def key_of(limiter: RateLimiter, *subject: str, name: str = LOGIN) -> str:
    """The key of the free attempts of ``subject``."""
    [item] = limiter.windows[name]
    return item.key_for(name, limiter.hashed(*subject))


def acquire(limiter: RateLimiter, *subject: str, name: str = LOGIN) -> Acquired:
    """Count one attempt for ``subject``. Raises `TooManyAttempts`. Atomic over all processes."""
    key = key_of(limiter, *subject, name=name)
    return acquire_at(limiter, name, key, limiter.storage.get(level_key(key)))


def acquire_at(limiter: RateLimiter, name: str, key: str, level: int) -> Acquired:
    """`acquire` under this `key_of`, whose count at `level_key` has just been read."""
    storage, [item] = limiter.storage, limiter.windows[name]
    window, free = (delay(item, level), 1) if level else (item.get_expiry(), item.amount)
    number = storage.incr(_lockout(key, level), window)
    # The first attempt after a lockout reads the level again: a refund may have ended the lockout.
    stale = level > 0 and number == free and storage.get(level_key(key)) != level
    if number > free or stale:
        if stale or not level:
            storage.incr(_lockout(key, level), window, -1)  # rejected attempts are not counted
        RATE_LIMITED.add(name)
        # At level 0 a concurrent attempt, the last free one, is locking the account.
        raise limiter.error(name, _lockout(key, max(1, level)))
    if number < free:
        return Acquired(name, key, level, locked=False)
    # Lock first, then raise the level: until then the old level rejects concurrent attempts.
    storage.incr(_lockout(key, level + 1), delay(item, level + 1))
    storage.incr(level_key(key), max(DAY, 2 * delay(item, level + 1)))
    return Acquired(name, key, level, locked=True)


def refund(limiter: RateLimiter, attempt: Acquired) -> None:
    """Restore the state before the attempt: the level first, so that `acquire` can tell."""
    storage, [item] = limiter.storage, limiter.windows[attempt.name]
    if attempt.locked:
        if attempt.level:
            storage.incr(level_key(attempt.key), DAY, -1)
        else:
            storage.clear(level_key(attempt.key))
        storage.clear(_lockout(attempt.key, attempt.level + 1))
    if attempt.level:
        storage.clear(_lockout(attempt.key, attempt.level))
    else:
        storage.incr(attempt.key, item.get_expiry(), -1)


def reset(limiter: RateLimiter, *subject: str) -> None:
    """Forget all attempts and lockouts of ``subject`` at logins."""
    key = key_of(limiter, *subject)
    level = limiter.storage.get(level_key(key))
    # Of the earlier lockouts, only the last one can still be running.
    for ended in {0, max(0, level - 1), level}:
        limiter.storage.clear(_lockout(key, ended))
    limiter.storage.clear(level_key(key))


def delay(item: RateLimitItem, level: int) -> int:
    """Seconds of the ``level``-th lockout."""
    window = item.get_expiry()
    return int(min(window * 2 ** (level - 1), max(window, LONGEST)))


def keys_of(limiter: RateLimiter, *subject: str) -> list[str]:
    """The keys under which any limit counts ``subject``, lockouts included.

    With them its counters are found by an index.
    """
    hashed = limiter.hashed(*subject)
    keys = []
    for name, items in limiter.windows.items():
        for key in (item.key_for(name, hashed) for item in items):
            levels = range(LEVELS if name in LOCKING else 1)
            keys += [level_key(key), *(_lockout(key, level) for level in levels)]
    return keys


def locks_login(key: str) -> bool:
    """Whether a stored ``key`` with a count is that of a lockout from signing in."""
    return counted_by(key) == LOGIN and key.rpartition("/")[2].isdecimal()


def running_keys_of(limiter: RateLimiter, *subject: str) -> list[str]:
    """Those of `keys_of` that may have a count now: of earlier lockouts only the last one has."""
    hashed = limiter.hashed(*subject)
    keys = []
    for name, items in limiter.windows.items():
        for key in (item.key_for(name, hashed) for item in items):
            keys.append(key)
            if name in LOCKING and (level := limiter.storage.get(level_key(key))):
                keys += [level_key(key), *{_lockout(key, each) for each in (level - 1, level)}]
    return list(dict.fromkeys(keys))


def _lockout(key: str, level: int) -> str:
    return f"{key}/{level}" if level else key


def level_key(key: str) -> str:
    """The key that counts the lockouts of a `key_of`."""
    return f"{key}/level"
