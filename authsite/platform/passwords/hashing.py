"""Hash and check passwords, in the hash pool and at the same cost for every result."""

import base64
import hashlib
import hmac
import os
import re
import sys
import threading
import unicodedata
from collections.abc import Callable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from functools import partial
from queue import Empty, SimpleQueue
from time import monotonic
from typing import TypeVar

import bcrypt

from authsite.platform.http.errors import TemporarilyUnavailable
from authsite.platform.i18n import PluralString
from authsite.platform.passwords import foreign
from authsite.platform.runtime.counters import HASH_WAITS, HASHES_REJECTED
from authsite.platform.runtime.processes import after_fork, usable_cores
from authsite.platform.runtime.slots import waiting
from authsite.platform.runtime.spans import span

# The format of stored password hashes.
#
# ``v1$<pepper>$2b$12$…``: bcrypt over base64(HMAC-SHA-384(pepper, NFC(password))). The MAC turns
# any password into 64 bytes without NUL, so neither bcrypt's limit of 72 bytes nor a NUL
# truncates it (OWASP Password Storage Cheat Sheet, "Pre-Hashing Passwords with bcrypt").
#
# Two forms of other systems are verified as well: plain bcrypt, and ``bcrypt_sha256$$2b$12$…`` of
# Django, which is bcrypt over the hexadecimal SHA-256 of the password. `foreign` has those other
# than bcrypt.


TAG = "v1"
NO_PEPPER = "-"
MAX_PASSWORD_BYTES = 4096
MIN_COST, MAX_COST = 4, 16  # 4 is bcrypt's minimum; over 16 one login would take seconds

# The categories Cc and Cs of Unicode, which no version of Unicode changes.
CONTROL = re.compile("[\x00-\x1f\x7f-\x9f\ud800-\udfff]")

# The last characters of salt and digest have unused bits, which every bcrypt sets to zero.
_STORED = re.compile(
    r"(?:v1\$(?P<pepper>-|[0-9a-f]{8})|(?P<prehash>bcrypt_sha256\$))?"
    r"(?P<salt>\$2[aby]\$(?P<cost>[0-9]{2})\$[./A-Za-z0-9]{21}[.Oeu])[./A-Za-z0-9]{31}"
)


class UnacceptablePassword(ValueError):
    """The password is empty, over 4096 bytes, or has control characters or lone surrogates."""


@dataclass(frozen=True, slots=True)
class StoredHash:
    """A parsed hash. ``pepper`` is the id of its pepper; None for a hash of another system.

    ``prehashed``: the password is hashed with SHA-256 first, as Django does.
    """

    pepper: str | None
    cost: int
    salt: bytes
    hashed: bytes
    prehashed: bool = False


def parse(stored: str | None) -> StoredHash | None:
    """Parse ``stored``; None for anything that is not a hash of a supported format and cost."""
    match = _STORED.fullmatch(stored) if stored else None
    if match is None or not MIN_COST <= int(match["cost"]) <= MAX_COST:
        return None
    hashed = match.string[match.start("salt") :]
    return StoredHash(
        match["pepper"],
        int(match["cost"]),
        match["salt"].encode(),
        hashed.encode(),
        prehashed=match["prehash"] is not None,
    )


def serialize(pepper: str, hashed: bytes) -> str:
    """The string to store for the bcrypt hash ``hashed``; ``pepper`` is the id of the pepper."""
    return f"{TAG}${pepper}{hashed.decode('ascii')}"


def pepper_id(pepper: str) -> str:
    """An id of ``pepper`` for stored hashes; it does not reveal the pepper."""
    return hmac.digest(pepper.encode(), b"authsite pepper id", "sha256")[:4].hex()


def hash_prefix(pepper: str) -> str:
    """How every stored hash with ``pepper`` begins."""
    return f"{TAG}${pepper_id(pepper)}$"


def encode(password: str) -> bytes:
    """``password`` in UTF-8. Raises `UnacceptablePassword`."""
    # Characters first: a string has at least as many bytes, so this bounds the work of encoding.
    if not password or len(password) > MAX_PASSWORD_BYTES:
        raise UnacceptablePassword
    if CONTROL.search(password):
        raise UnacceptablePassword
    encoded = password.encode()
    if len(encoded) > MAX_PASSWORD_BYTES:
        raise UnacceptablePassword
    return encoded


def peppered(password: str, pepper: str) -> bytes:
    """The 64 bytes that are hashed with bcrypt. Raises `UnacceptablePassword`."""
    encode(password)
    normalized = unicodedata.normalize("NFC", password).encode()
    return base64.b64encode(hmac.digest(pepper.encode(), normalized, hashlib.sha384))


def plain(password: str) -> bytes:
    """The input of plain bcrypt, for imported hashes: the first 72 bytes of the password.

    Raises `UnacceptablePassword`.
    """
    return encode(password)[:72]


def prehashed(password: str) -> bytes:
    """The input of bcrypt in Django's ``bcrypt_sha256``. Raises `UnacceptablePassword`."""
    return hashlib.sha256(encode(password)).hexdigest().encode()


# A bounded thread pool for password hashing: few hashes at once, a short queue, then 503.
#
# Without it 16 concurrent logins raise the median of a guarded request from 0.3 ms to 1.5 s on
# two cores.


T = TypeVar("T")

RETRY_AFTER_SECONDS = 2
# At 19 any other load of the machine, guarded requests included, starves logins; at 0 guarded
# requests lose half their rate while users log in (docs/performance-notes.md).
NICENESS = 10
SAFETY_FACTOR = 0.75  # of the timeout, since the predicted wait may be too short


class HashCapacityExceeded(TemporarilyUnavailable):
    """All hash threads are busy, and the queue is full or too slow."""

    message = PluralString(
        "Too many logins at once. Try again in ${count} second.",
        "Too many logins at once. Try again in ${count} seconds.",
        RETRY_AFTER_SECONDS,
    )
    retry_after = RETRY_AFTER_SECONDS

    def __init__(self) -> None:
        super().__init__(self.retry_after)


class WorkTime:
    """Moving average of the seconds that one piece of work takes; 0 before the first."""

    seconds = 0.0

    def add(self, seconds: float) -> None:
        """Add a measurement; of concurrent calls one may be lost."""
        self.seconds = (self.seconds * 3 + seconds) / 4 if self.seconds else seconds


class HashPool:
    """Runs work on ``threads`` threads of low priority; at most ``queue`` callers wait for them.

    ``threads``: default is the number of cores that this process may use. ``timeout``: seconds
    that a caller waits for a thread. A caller whose predicted wait comes near it is rejected at
    once, so the queue is shorter on a slower machine. bcrypt releases the GIL, and on Linux a nice
    value (``niceness``) belongs to one thread: guarded requests get the larger part of a core that
    they share with a hash.

    Work is handed to a thread only when one is free. The queue consists of waiting callers, so a
    process that ends finishes the hashes that run and no others.
    """

    def __init__(
        self,
        threads: int | None = None,
        queue: int = 8,
        timeout: float = 2.0,
        niceness: int = NICENESS,
    ) -> None:
        self._size = threads or usable_cores()
        self.capacity = self._size + queue  # callers at the same time
        self._timeout = timeout
        self._niceness = niceness
        self._start()
        after_fork(self, HashPool._start)

    def _start(self) -> None:
        # The threads start with the first work: threads do not survive a fork.
        self._executor = ThreadPoolExecutor(self._size, "hash", _lower_priority, (self._niceness,))
        self._free_threads: SimpleQueue[None] = SimpleQueue()  # a token for each
        for _thread in range(self._size):
            self._free_threads.put(None)
        self._lock = threading.Lock()
        self.callers = 0
        self._work_time = WorkTime()

    @property
    def waiting(self) -> int:
        """How many callers wait for a thread."""
        return max(0, self.callers - self._size)

    def run(self, work: Callable[[], T]) -> T:
        """What ``work()`` returns or raises.

        Raises `HashCapacityExceeded`: at once if the queue is full or too slow, and if no thread
        becomes free within ``timeout`` seconds.
        """
        with self._lock:
            predicted_wait = self.waiting * self._work_time.seconds / self._size
            if self.callers >= self.capacity or predicted_wait > SAFETY_FACTOR * self._timeout:
                raise _exceeded()
            self.callers += 1
        with waiting():
            try:
                return self._submit(work).result()
            finally:
                with self._lock:
                    self.callers -= 1

    def close(self) -> None:
        """Reject new and waiting callers, and wait until the work that runs has ended."""
        self._executor.shutdown(wait=False)
        self._free_threads.put(None)  # wakes one caller, which wakes the next
        self._executor.shutdown()

    def _submit(self, work: Callable[[], T]) -> Future[T]:
        """Wait for a free thread and hand it ``work``."""
        start = monotonic()
        try:
            self._free_threads.get(timeout=self._timeout)
        except Empty:
            raise _exceeded() from None
        HASH_WAITS.observe(monotonic() - start)
        try:
            return self._executor.submit(self._run, work)
        except RuntimeError:  # the pool is closed, or the process is ending
            self._free_threads.put(None)
            raise _exceeded() from None

    def _run(self, work: Callable[[], T]) -> T:
        start = monotonic()
        try:
            return work()
        finally:
            self._work_time.add(monotonic() - start)
            self._free_threads.put(None)


def _exceeded() -> HashCapacityExceeded:
    HASHES_REJECTED.add()
    return HashCapacityExceeded()


def _lower_priority(niceness: int) -> None:
    """Lower the priority of this thread."""
    if sys.platform == "linux":
        try:
            thread = threading.get_native_id()
            lowered = os.getpriority(os.PRIO_PROCESS, thread) + niceness
            os.setpriority(os.PRIO_PROCESS, thread, min(lowered, 19))
        except OSError:
            return  # a sandbox may forbid it; hashes then have the same priority as requests


class Passwords:
    """Hashes and checks passwords.

    ``cost``: the bcrypt cost of new hashes. ``peppers``: the first is used for new hashes, and all
    of them in checks, as are ``next_peppers``; hashes of any other pepper never match. Raises
    ``ValueError`` for a cost outside of 4 to 16.
    """

    def __init__(
        self, cost: int, peppers: Sequence[str], pool: HashPool, next_peppers: Sequence[str] = ()
    ) -> None:
        if not MIN_COST <= cost <= MAX_COST:
            raise ValueError(f"bcrypt cost {cost}: use {MIN_COST} to {MAX_COST}.")
        self._cost = cost
        self._highest_cost = cost
        self._peppers = {pepper_id(pepper): pepper for pepper in peppers}
        self._pepper = next(iter(self._peppers), NO_PEPPER)
        self._peppers |= {pepper_id(pepper): pepper for pepper in next_peppers}
        self._peppers[NO_PEPPER] = ""  # for hashes that were stored without a pepper
        self._slowest = foreign.SlowestSeen()
        self.pool = pool
        self._estimates = HashPool(threads=1, queue=4, timeout=0.5)

    def hash(self, password: str) -> str:
        """The string to store for ``password``, whose strength is not checked here.

        Raises `UnacceptablePassword` and `HashCapacityExceeded`.
        """
        key = peppered(password, self._peppers[self._pepper])
        salt = bcrypt.gensalt(self._cost)
        return serialize(self._pepper, self.run(lambda: bcrypt.hashpw(key, salt)))

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
        row = parse(stored)
        other = foreign.parse(stored)
        if row is not None:
            # Every check costs as much as that of the most expensive hash so far, but at most one
            # step more than new hashes: one imported hash must not slow down all logins.
            self._highest_cost = max(self._highest_cost, min(row.cost, self._cost + 1))
        padding = self._slowest.padding(other)
        # One piece of work that includes the padding: 2^c for the row + 2^c + 2^(c+1) + … = 2^C.
        if other is not None:
            try:
                compute, expected = partial(other.compute, encode(password)), other.hashed
            except UnacceptablePassword:
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
        row = parse(stored)
        if row is None:
            return foreign.parse(stored) is not None
        return (row.pepper, row.cost) != (self._pepper, self._cost)

    def _key(self, password: str, row: StoredHash) -> bytes | None:
        """The input of bcrypt for ``row``; None if no password can match."""
        try:
            if row.prehashed:
                return prehashed(password)
            if row.pepper is None:
                return plain(password)
            return peppered(password, self._peppers[row.pepper])
        except (UnacceptablePassword, KeyError):
            return None


def _throwaway(cost: int) -> "partial[bytes]":
    return partial(bcrypt.hashpw, b"." * 64, f"$2b${cost:02}${'.' * 22}".encode())


def _first(work: list["partial[bytes]"]) -> bytes:
    """The result of the first piece of work; the others are padding."""
    results = [each() for each in work]
    return results[0]
