"""What a request may still try: ``request.attempts``, of plain values, for doors and services.

Every count is committed by itself, before the request's transaction: an error that is raised
afterwards takes nothing back. Therefore call these only while the request's own transaction has
written nothing (on SQLite it would wait for itself), or once it has ended (`after_commit`).
"""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from authsite import clock
from authsite.http.errors import ApiError
from authsite.keys import KeyRing

from . import delays, device, known, limiter
from .buckets import BUCKETS, network_of
from .limiter import Limiter


@dataclass(slots=True)
class LoginAttempt:
    """One login that was let through. ``right``: what came of it; None if it was never checked.

    ``closed``: the account is closed for others now, until this one turns out to be right.
    """

    closed: bool = False
    right: bool | None = None


@dataclass(frozen=True, slots=True)
class Attempts:
    """The limits from one caller's side. Without a ``limiter`` (limits off) all is allowed.

    ``address``: the caller's, as it is counted; ``cookie``: the device cookie as it was sent.
    """

    limiter: Limiter | None
    devices: KeyRing
    address: str
    cookie: str | None = None

    def count(self, bucket: str, *subject: str) -> None:
        """Count one. Raises `TooManyAttempts` when it is over the limit."""
        if self.limiter and not limiter.take(self.limiter, bucket, *subject):
            key = limiter.key_of(self.limiter, bucket, *subject)
            raise limiter.refusal(self.limiter, bucket, key)

    def allows(self, bucket: str, *subject: str) -> bool:
        """Count one; whether it is within the limit, for doors whose answer must not tell."""
        return self.limiter is None or limiter.take(self.limiter, bucket, *subject)

    def give_back(self, bucket: str, *subject: str) -> None:
        """Take one back that `count` counted."""
        if self.limiter:
            limiter.give_back(self.limiter, bucket, *subject)

    @contextmanager
    def failures(self, bucket: str, *subject: str) -> Iterator[None]:
        """Count the block if it fails with one of the bucket's errors.

        For checks that are cheap and cannot be guessed: what succeeds writes nothing, and of
        failures at the same moment those over the limit are told so instead of their verdict.
        Raises `TooManyAttempts`.
        """
        if self.limiter and not limiter.left(self.limiter, bucket, *subject):
            key = limiter.key_of(self.limiter, bucket, *subject)
            raise limiter.refusal(self.limiter, bucket, key)
        try:
            yield
        except ApiError as error:
            if counts_as_failure(bucket, error):
                self.count(bucket, *subject)
            raise

    @contextmanager
    def login(self, name: str) -> Iterator[LoginAttempt]:
        """Let one login to ``name`` through, or raise `TooManyAttempts` before any hash.

        ``name`` is the key that the login is looked up by, whichever way it was typed. The block
        checks the password and sets ``right``; a right one, and one that was never checked, gives
        back what it took of the account. The address's total stays counted (L08).
        """
        if self.limiter is None:
            yield LoginAttempt()
            return
        self.count("login-address", self.address)
        taken = delays.take(self.limiter, *self._account(self.limiter, name))
        attempt = LoginAttempt(taken.closed)
        try:
            yield attempt
        finally:
            if attempt.right is not False:
                delays.give_back(self.limiter, taken)
            if attempt.right:
                known.remember(self.limiter, name, self.address)

    def forget(self, name: str) -> None:
        """Begin anew for ``name``, whose owner has just proved to be one (a password reset).

        The address counts as known from now on, so strangers cannot close it again.
        """
        if self.limiter:
            delays.forget(self.limiter, name)
            delays.forget(self.limiter, name, "address", self.address)
            known.remember(self.limiter, name, self.address)

    def device_for(self, name: str) -> str | None:
        """The device cookie for a login to ``name`` just now; None with limits off."""
        if self.limiter is None:
            return None
        now = clock.now()
        old = device.decode(self.devices, name, self.cookie, now)
        return device.encode(self.devices, name, old, now)

    def _account(self, limits: Limiter, name: str) -> tuple[str, ...]:
        """Whose failures count against this caller: a known one's only its own (L10)."""
        browser = device.decode(self.devices, name, self.cookie, clock.now())
        if browser:
            return (name, "device", browser)
        if known.is_known(limits, name, self.address):
            return (name, "address", self.address)
        return (name,)


def request_attempts(request: Any) -> Attempts:
    """``request.attempts``."""
    registry = request.registry
    return Attempts(
        registry["authsite.limiter"] or None,
        registry["authsite.devices"],
        network_of(request.client_address),
        request.cookies.get(device.NAME),
    )


def counts_as_failure(bucket: str, error: ApiError) -> bool:
    """Whether ``error`` is a failure that ``bucket`` counts."""
    codes = {error.code, *(item.code for item in error.details)}
    return not codes.isdisjoint(BUCKETS[bucket].failures)


def after_commit(request: Any, work: Callable[[], None]) -> None:
    """Do ``work`` when the request's transaction has been committed, and only then."""
    request.tm.get().addAfterCommitHook(lambda done: work() if done else None)
