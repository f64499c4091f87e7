"""The rate limits of one caller, ``request.authsite.ctx.limits``, for views and services.

Each count is committed separately, so a later error does not undo it. Call these methods only while
the request's transaction has written nothing (on SQLite it would wait for itself), or after it has
ended (`db.after_commit`).
"""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import partial

from limits import RateLimitItem

from authsite.platform.crypto.keys import Keys
from authsite.platform.http.errors import ApiError
from authsite.platform.runtime.counters import RATE_LIMITED
from authsite.platform.settings.rate_limits import RATE_LIMITS

from . import recognized
from .limiter import RateLimiter, counted_by
from .recognized import Owner, Recognition, new_cookie, recognize
from .storage import Windows

# Limits on password guessing: some free attempts, then one after each of growing lockouts.
#
# The limits with ``growing_delay`` work like this, independently. Within one window the limit's
# number of attempts is free. The last of them locks the account for one window; after that, one
# attempt is allowed, which locks it for twice as long, and so on up to `LONGEST` seconds.
# Rejected attempts do not extend the lockout, so an attacker cannot keep an account locked. The
# state expires after a day, which bounds guessing to about 100 attempts a day (NIST SP 800-63B-4,
# section 3.2.2).
#
# An attempt is acquired before the password is checked, so that concurrent attempts are counted,
# and refunded if the password was correct. Three kinds of keys store the state in any storage of
# the limits library: ``k`` counts the free attempts, ``k/level`` the lockouts, and the count of
# ``k/<n>`` is above 0 while the n-th lockout lasts.


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


@dataclass(slots=True)
class PasswordAttempt:
    """One password check that is within the limit.

    ``locked``: this attempt used up the limit and locked the account; success unlocks it.
    ``succeeded``: the result of the check; None if the password was not checked. ``recognition``:
    what was recognized before the check.
    """

    locked: bool = False
    succeeded: bool | None = None
    recognition: Recognition | None = None


@dataclass(slots=True)
class Counted:
    """What a request has counted already, also in a run that pyramid_retry repeats.

    ``windows``: the result of `CallerLimits._acquire` for each limit and subject.
    """

    windows: dict[tuple[str, ...], str | None] = field(default_factory=dict)
    attempts: dict[tuple[str, ...], Acquired] = field(default_factory=dict)


@dataclass(slots=True)
class CallerLimits:
    """The limits of one caller. Without a ``limiter`` (limits off) everything is allowed.

    ``address``: the key under which the caller's address is counted; ``read_cookie`` returns the
    device cookie as it was sent; ``owner``: the user who has signed in or recovered the account,
    else None. ``seen``: what `login` has read, else None.
    ``recognition_in``: where recognized addresses are noted, also with limits off.
    ``on_exceeded`` is called with the limit and the stored subject when a window is full for the
    first time.
    """

    limiter: RateLimiter | None
    keys: Keys
    address: str
    read_cookie: Callable[[], str | None] = lambda: None
    counted: Counted = field(default_factory=Counted)
    owner: Owner | None = None
    seen: Windows | None = None
    recognition_in: RateLimiter | None = None
    on_exceeded: Callable[[str, str], None] = lambda _name, _subject: None

    def count(self, name: str, *subject: str) -> None:
        """Count one. Raises `TooManyAttempts` over the limit."""
        full = self._acquire(name, *subject)
        if self.limiter and full:
            raise self.limiter.error(name, full)

    def allows(self, name: str, *subject: str) -> bool:
        """Count one; whether it is within the limit, where the response must not reveal it."""
        return self._acquire(name, *subject) is None

    def refund(self, name: str, *subject: str) -> None:
        """Undo one `count`."""
        if self.limiter and (name, *subject) in self.counted.windows:
            del self.counted.windows[(name, *subject)]
            self.limiter.refund(name, *subject)

    @contextmanager
    def failures(self, name: str, *subject: str) -> Iterator[None]:
        """Count the block if it fails with one of the limit's errors.

        For checks that are cheap and cannot be guessed: a success writes nothing. Concurrent
        failures over the limit raise `TooManyAttempts` instead of the error of the login.
        """
        if self.limiter and (full := self.limiter.full(name, *subject)):
            self._report(self.limiter, full, name, *subject)
            raise self.limiter.error(name, full)
        try:
            yield
        except ApiError as error:
            if counts_as_failure(name, error):
                self.count(name, *subject)
            raise

    @contextmanager
    def login(self, account: str, owner: Owner) -> Iterator[PasswordAttempt]:
        """Count one login. Raises `TooManyAttempts` before any hash.

        ``account``: the key under which failures are counted, the user or the login name.
        ``owner`` has a separate limit in a recognized browser and at a recognized address. The
        block checks the password and sets ``succeeded``; unless the check fails, the attempt is
        refunded to the account. The count of the client address stays until the login is complete
        (`give_back_login`).
        """
        if self.limiter is None:
            yield PasswordAttempt(recognition=self.recognition(owner))
            return
        self.count("login-address", self.address)
        recognition, key, level = self._look_up(self.limiter, LOGIN, account, owner)
        acquire = partial(acquire_at, self.limiter, LOGIN, key, level)
        with self._password(self.limiter, acquire, key) as attempt:
            attempt.recognition = recognition
            yield attempt

    @contextmanager
    def reauthentication(self, user: str, session: str) -> Iterator[PasswordAttempt]:
        """Count one check of the current password of a signed-in user; see `login`.

        The limit is per user and sign-in, and separate from logins, so that neither unauthenticated
        callers nor the holder of a stolen token can use up the owner's attempts.
        """
        if self.limiter is None:
            yield PasswordAttempt()
            return
        name = "reauthentication"
        acquire_one = partial(acquire, self.limiter, user, session, name=name)
        with self._password(self.limiter, acquire_one, name, user, session) as attempt:
            yield attempt

    @contextmanager
    def second_factor(self, owner: Owner, key: str | None = None) -> Iterator[PasswordAttempt]:
        """Count one check of a second factor; see `login`.

        The limit is per user, over all methods, pending logins and sign-ins; a recognized browser
        or address counts apart. A right first proof refunds nothing. ``key``: what is counted
        instead of ``owner``, where no user is known.
        """
        if self.limiter is None:
            yield PasswordAttempt()
            return
        name = "second-factor"
        self.count("second-factor-address", self.address)
        _, counted, level = self._look_up(self.limiter, name, key or owner.key, owner)
        acquire = partial(acquire_at, self.limiter, name, counted, level)
        with self._password(self.limiter, acquire, counted) as attempt:
            yield attempt
        if attempt.succeeded is not False:
            self.refund("second-factor-address", self.address)

    def first(self, *subject: str) -> bool:
        """Whether this is the first call in this hour; with limits off always False."""
        return self.limiter is not None and self.limiter.first(*subject)

    def once_an_hour(self, *subject: str) -> bool:
        """Whether what does not count may be recorded: at the first call in this hour.

        With limits off nothing counts, and all may be.
        """
        return self.limiter is None or self.first(*subject)

    def recognized(self, owner: Owner) -> tuple[str, ...]:
        """The browser or address that ``owner`` recently logged in with, else nothing (L10)."""
        return self.recognition(owner).subject

    def recognition(self, owner: Owner) -> Recognition:
        """What is recognized of the request, for ``owner``."""
        unknown, known = self._recognize(owner)
        noted = self.recognition_in
        if unknown.subject or noted is None:
            return unknown
        key = recognized.address_key(noted, owner, self.address)
        return known if noted.storage.get(key) else unknown

    def remember_login(self, owner: Owner) -> None:
        """`remember` for ``owner``, who has just signed in; the view sets the device cookie."""
        self.owner = owner
        self.remember(owner)

    def remember(self, owner: Owner) -> None:
        """The browser and the address of this request are recognized from now on.

        For ``owner``, who has just signed in or recovered the account. Call it before the request's
        transaction has written anything, or when it has been committed.
        """
        if self.recognition_in:
            recognized.remember(self.recognition_in, owner, self.address, self.seen)

    def give_back_login(self, *, counted_before: bool = False) -> None:
        """Undo what a login has counted at the client address, since it was successful.

        Many users may share an address. An attacker gains nothing: each success gives back its own
        count alone. ``counted_before``: an earlier request of this login has counted. Call it as
        `remember`.
        """
        name = "login-address"
        if not counted_before:
            self.refund(name, self.address)
        elif self.limiter:
            self.limiter.refund(name, self.address)

    def end_lockout(self, accounts: list[str]) -> None:
        """End the lockout of a user, who has just reset the password.

        ``accounts`` as in `login`.
        """
        if self.limiter is None:
            return
        for account in accounts:
            reset(self.limiter, account)
            reset(self.limiter, account, "address", self.address)

    def new_device_cookie(self) -> str | None:
        """The device cookie for ``owner``; None without one."""
        if self.owner is None:
            return None
        return new_cookie(self.keys["device"], self.owner, self.read_cookie())

    def _look_up(
        self, limiter: RateLimiter, name: str, account: str, owner: Owner
    ) -> tuple[Recognition, str, int]:
        """What is recognized; the key that counts the attempt, and its lockouts so far.

        All that it reads of the limit ``name``, in one statement where it is in our database.
        """
        unknown, known = self._recognize(owner)
        address = recognized.address_key(limiter, owner, self.address)
        keys = [key_of(limiter, account, *each.subject, name=name) for each in (unknown, known)]
        levels = [level_key(key) for key in keys]
        self.seen = Windows(limiter.storage, [address, *levels])
        chosen = self.seen.get(address) > 0
        return (known if chosen else unknown), keys[chosen], self.seen.get(levels[chosen])

    def _recognize(self, owner: Owner) -> tuple[Recognition, Recognition]:
        return recognize(self.keys["device"], owner, self.address, self.read_cookie())

    @contextmanager
    def _password(
        self, limiter: RateLimiter, acquire: Callable[[], Acquired], *key: str
    ) -> Iterator[PasswordAttempt]:
        """``key``: under which a run of the request that pyramid_retry repeats finds the count."""
        acquired = self.counted.attempts.get(key) or acquire()
        self.counted.attempts[key] = acquired
        attempt = PasswordAttempt(acquired.locked)
        try:
            yield attempt
        finally:
            if attempt.succeeded is not False:
                del self.counted.attempts[key]
                refund(limiter, acquired)

    def _acquire(self, name: str, *subject: str) -> str | None:
        """Count one, at most once in a request; the key of the full window, or None."""
        if self.limiter is None:
            return None
        key = (name, *subject)
        if key not in self.counted.windows:
            full = self.counted.windows[key] = self.limiter.acquire(name, *subject)
            if full:
                self._report(self.limiter, full, name, *subject)
        return self.counted.windows[key]

    def _report(self, limiter: RateLimiter, full: str, name: str, *subject: str) -> None:
        if limiter.first_exceeded(full):
            self.on_exceeded(name, limiter.hashed(*subject))


def counts_as_failure(name: str, error: ApiError) -> bool:
    """Whether the limit ``name`` counts ``error`` as a failure."""
    codes = {error.code, *(item.code for item in error.details)}
    return not codes.isdisjoint(RATE_LIMITS[name].failures)
