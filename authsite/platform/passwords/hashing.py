"""Hash and check passwords, in the hash pool and at the same cost for every result."""

import hmac
from collections.abc import Callable, Sequence
from functools import partial
from typing import TypeVar

import bcrypt

from authsite.platform.passwords import foreign, scheme
from authsite.platform.passwords.pool import HashPool
from authsite.platform.runtime.spans import span

T = TypeVar("T")


class Passwords:
    """Hashes and checks passwords.

    ``cost``: the bcrypt cost of new hashes. ``peppers``: the first is used for new hashes, and all
    of them in checks, as are ``next_peppers``; hashes of any other pepper never match. Raises
    ``ValueError`` for a cost outside of 4 to 16.
    """

    def __init__(
        self, cost: int, peppers: Sequence[str], pool: HashPool, next_peppers: Sequence[str] = ()
    ) -> None:
        if not scheme.MIN_COST <= cost <= scheme.MAX_COST:
            raise ValueError(f"bcrypt cost {cost}: use {scheme.MIN_COST} to {scheme.MAX_COST}.")
        self._cost = cost
        self._highest_cost = cost
        self._peppers = {scheme.pepper_id(pepper): pepper for pepper in peppers}
        self._pepper = next(iter(self._peppers), scheme.NO_PEPPER)
        self._peppers |= {scheme.pepper_id(pepper): pepper for pepper in next_peppers}
        self._peppers[scheme.NO_PEPPER] = ""  # for hashes that were stored without a pepper
        self._slowest = foreign.SlowestSeen()
        self.pool = pool
        self._estimates = HashPool(threads=1, queue=4, timeout=0.5)

    def hash(self, password: str) -> str:
        """The string to store for ``password``, whose strength is not checked here.

        Raises `UnacceptablePassword` and `HashCapacityExceeded`.
        """
        key = scheme.peppered(password, self._peppers[self._pepper])
        salt = bcrypt.gensalt(self._cost)
        return scheme.serialize(self._pepper, self.run(lambda: bcrypt.hashpw(key, salt)))

    def run(self, work: Callable[[], T]) -> T:
        """Run other slow work in the hash pool; return what ``work()`` returns.

        Raises `HashCapacityExceeded`.
        """
        with span("password hash"):
            return self.pool.run(work)

    def estimate(self, work: Callable[[], T]) -> T:
        """Run an estimate that no change of a password waits for; return what ``work()`` returns.

        It has one thread of low priority in a process, since it is Python code, which holds the
        interpreter lock, and a separate queue, so that it takes no capacity from logins. Raises
        `HashCapacityExceeded` if four others wait, or after half a second.
        """
        return self._estimates.run(work)

    def check(self, password: str, stored: str | None) -> bool:
        """Whether ``stored`` is a hash of ``password``.

        False for an unknown user (None), a malformed hash, a missing pepper and an unacceptable
        password. These take as long as a real check, so the time reveals nothing (OWASP
        Authentication Cheat Sheet, "Authentication Responses"). Raises `HashCapacityExceeded`.
        """
        row = scheme.parse(stored)
        other = foreign.parse(stored)
        if row is not None:
            # Every check costs as much as that of the most expensive hash so far, but at most one
            # step more than new hashes: one imported hash must not slow down all logins.
            self._highest_cost = max(self._highest_cost, min(row.cost, self._cost + 1))
        padding = self._slowest.padding(other)
        # One piece of work that includes the padding: 2^c for the row + 2^c + 2^(c+1) + … = 2^C.
        if other is not None:
            try:
                compute, expected = partial(other.compute, scheme.encode(password)), other.hashed
            except scheme.UnacceptablePassword:
                compute, expected = partial(other.compute, b"."), b""
            padding.append(_throwaway(self._highest_cost))
        elif row is not None and (key := self._key(password, row)) is not None:
            compute, expected = partial(bcrypt.hashpw, key, row.salt), row.hashed
            padding += [_throwaway(cost) for cost in range(row.cost, self._highest_cost)]
        else:
            compute, expected = _throwaway(self._highest_cost), b""
        return hmac.compare_digest(self.run(lambda: _first([compute, *padding])), expected)

    def needs_upgrade(self, stored: str | None) -> bool:
        """Whether ``stored`` should be replaced after a successful check.

        True for a hash of another system, another pepper than the first, or another cost than
        `cost`.
        """
        row = scheme.parse(stored)
        if row is None:
            return foreign.parse(stored) is not None
        return (row.pepper, row.cost) != (self._pepper, self._cost)

    def _key(self, password: str, row: scheme.StoredHash) -> bytes | None:
        """The input of bcrypt for ``row``; None if no password can match."""
        try:
            if row.prehashed:
                return scheme.prehashed(password)
            if row.pepper is None:
                return scheme.plain(password)
            return scheme.peppered(password, self._peppers[row.pepper])
        except (scheme.UnacceptablePassword, KeyError):
            return None


def _throwaway(cost: int) -> "partial[bytes]":
    return partial(bcrypt.hashpw, b"." * 64, f"$2b${cost:02}${'.' * 22}".encode())


def _first(work: list["partial[bytes]"]) -> bytes:
    """The result of the first piece of work; the others are padding."""
    results = [each() for each in work]
    return results[0]
