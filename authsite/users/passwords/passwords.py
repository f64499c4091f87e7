"""Hash and check passwords: the same cost for every answer, and every hash through the gate."""

import hmac
from collections.abc import Sequence

import bcrypt

from authsite.users.passwords import scheme
from authsite.users.passwords.gate import HashGate


class Passwords:
    """Made once at start. ``cost``: bcrypt's, of new hashes. ``peppers``: the first is used for new
    hashes, all are known when one is checked; losing one loses the passwords stored under it.

    Raises ``ValueError`` for a cost that bcrypt or patience does not allow.
    """

    def __init__(self, cost: int, peppers: Sequence[str], gate: HashGate) -> None:
        if not scheme.MIN_COST <= cost <= scheme.MAX_COST:
            raise ValueError(f"bcrypt cost {cost}: use {scheme.MIN_COST} to {scheme.MAX_COST}.")
        self._cost = cost
        self._highest_seen = cost
        self._peppers = {scheme.pepper_id(pepper): pepper for pepper in peppers}
        self._pepper = next(iter(self._peppers), scheme.NO_PEPPER)
        self._peppers[scheme.NO_PEPPER] = ""  # hashes from before there was a pepper
        self._gate = gate

    def hash(self, password: str) -> str:
        """The string to store for ``password``; its strength is not looked at here.

        Raises ``UnacceptablePassword`` and ``HashCapacityExceeded``.
        """
        key = scheme.peppered(password, self._peppers[self._pepper])
        salt = bcrypt.gensalt(self._cost)
        return scheme.write(self._pepper, self._gate.run(lambda: bcrypt.hashpw(key, salt)))

    def check(self, password: str, stored: str | None) -> bool:
        """Whether ``password`` is the one behind ``stored``.

        For an unknown user (None), a malformed hash, a lost pepper or a password that could never
        have been set the answer is False, at the cost of a real check: the answer's time says
        nothing (OWASP Authentication Cheat Sheet, "Authentication Responses").
        Raises ``HashCapacityExceeded``.
        """
        row = scheme.read(stored)
        if row is not None:
            # Rows from a time of higher cost: everybody's check takes as long as theirs.
            self._highest_seen = max(self._highest_seen, row.cost)
        key = self._key(password, row)
        # One piece of work in the line, padding included: 2^c of the row + 2^c + 2^(c+1) + … = 2^C.
        if row is None or key is None:
            self._gate.run(lambda: _hash_each([_throwaway(self._highest_seen)]))
            return False
        work = [(key, row.salt)]
        work += [_throwaway(cost) for cost in range(row.cost, self._highest_seen)]
        return hmac.compare_digest(self._gate.run(lambda: _hash_each(work)), row.hashed)

    def needs_upgrade(self, stored: str | None) -> bool:
        """Whether ``stored`` should be replaced, now that its password was typed rightly.

        True for a plain bcrypt hash, another pepper than the first, or another cost than today's.
        """
        row = scheme.read(stored)
        return row is not None and (row.pepper, row.cost) != (self._pepper, self._cost)

    def _key(self, password: str, row: scheme.Stored | None) -> bytes | None:
        """What bcrypt is to get for ``row``; None when nothing can be right."""
        try:
            if row is None or row.pepper is None:
                return scheme.plain(password)
            return scheme.peppered(password, self._peppers[row.pepper])
        except (scheme.UnacceptablePassword, KeyError):
            return None


def _throwaway(cost: int) -> tuple[bytes, bytes]:
    return b"." * 64, f"$2b${cost:02}${'.' * 22}".encode()


def _hash_each(work: list[tuple[bytes, bytes]]) -> bytes:
    """The hash of the first key and salt; the others only take their time."""
    hashes = [bcrypt.hashpw(key, salt) for key, salt in work]
    return hashes[0]
