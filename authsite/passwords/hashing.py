"""Hash and check passwords, in the hash pool and at the same cost for every result."""

import hmac
from collections.abc import Callable, Sequence
from typing import TypeVar

import bcrypt

from authsite.passwords import scheme
from authsite.passwords.pool import HashPool
from authsite.spans import span

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
        interpreter lock, and a queue of its own, so that it takes no capacity from logins. Raises
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
        if row is not None:
            # Every check costs as much as that of the most expensive hash so far, but at most one
            # step more than new hashes: one imported hash must not slow down all logins.
            self._highest_cost = max(self._highest_cost, min(row.cost, self._cost + 1))
        key = self._key(password, row)
        # One piece of work that includes the padding: 2^c for the row + 2^c + 2^(c+1) + … = 2^C.
        if row is None or key is None:
            self.run(lambda: _hash_each([_throwaway(self._highest_cost)]))
            return False
        work = [(key, row.salt)]
        work += [_throwaway(cost) for cost in range(row.cost, self._highest_cost)]
        return hmac.compare_digest(self.run(lambda: _hash_each(work)), row.hashed)

    def needs_upgrade(self, stored: str | None) -> bool:
        """Whether ``stored`` should be replaced after a successful check.

        True for a plain bcrypt hash, another pepper than the first, or another cost than `cost`.
        """
        row = scheme.parse(stored)
        return row is not None and (row.pepper, row.cost) != (self._pepper, self._cost)

    def _key(self, password: str, row: scheme.StoredHash | None) -> bytes | None:
        """The input of bcrypt for ``row``; None if no password can match."""
        try:
            if row is None or row.pepper is None:
                return scheme.plain(password)
            return scheme.peppered(password, self._peppers[row.pepper])
        except (scheme.UnacceptablePassword, KeyError):
            return None


def _throwaway(cost: int) -> tuple[bytes, bytes]:
    return b"." * 64, f"$2b${cost:02}${'.' * 22}".encode()


def _hash_each(work: list[tuple[bytes, bytes]]) -> bytes:
    """The hash of the first key and salt; the others are padding."""
    hashes = [bcrypt.hashpw(key, salt) for key, salt in work]
    return hashes[0]
