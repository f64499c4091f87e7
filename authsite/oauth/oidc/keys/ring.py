"""The signing keys that a process has in memory, read again every minute."""

import json
import threading
from collections.abc import Sequence
from contextlib import suppress
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Any, NamedTuple

from sqlalchemy.exc import SQLAlchemyError

from authsite.oauth.oidc.errors import SigningUnavailable
from authsite.platform.context import Context, Services
from authsite.platform.crypto.sealing import SealingKeys, Unusable
from authsite.platform.db.transaction import is_open_in_thread
from authsite.platform.registrations import Registered
from authsite.platform.runtime import clock

from .stored import ALGORITHMS, StoredKey, all_keys, binding_of, longest_lifetime, read_key

if TYPE_CHECKING:
    from joserfc.jwk import ECKey, RSAKey

KEEP = timedelta(seconds=60)
BETWEEN_REREADS = timedelta(seconds=5)  # for a ``kid`` that is unknown


class RingKey(NamedTuple):
    """A key in memory. ``signer``: its private part; None for one that signs no more, or if no
    sealing key opens it.
    """

    stored: StoredKey
    signer: "RSAKey | ECKey | None"

    @property
    def is_unusable(self) -> bool:
        """Whether it should be able to sign, and is not."""
        return self.signer is None and self.stored.state != "previous"


class KeySet(NamedTuple):
    """All keys at one moment. ``longest``: the longest lifetime of an ID token."""

    keys: Sequence[RingKey]
    longest: timedelta
    read_at: datetime

    def current(self, alg: str) -> RingKey | None:
        """The key that signs."""
        return self.in_state(alg, "current")

    def in_state(self, alg: str, state: str) -> RingKey | None:
        """The newest key of this algorithm and state."""
        found = [k for k in self.keys if k.stored.alg == alg and k.stored.state == state]
        return found[-1] if found else None

    def find(self, kid: str, now: datetime) -> StoredKey | None:
        """The key with this id, also one that is published no more."""
        found = (each.stored for each in self.keys if each.stored.kid == kid)
        return next((each for each in found if each.is_known(now)), None)

    def published(self, now: datetime) -> list[dict[str, Any]]:
        """The public keys as JWKs, of each algorithm first the one that signs."""
        order = {"current": 0, "next": 1, "previous": 2}
        shown = [k.stored for k in self.keys if k.stored.is_published(now, self.longest)]
        shown.sort(key=lambda k: (ALGORITHMS.index(k.alg), order[k.state]))
        return [json.loads(each.public) for each in shown]


class Ring:
    """The keys of one application in this process."""

    def __init__(self) -> None:
        self._set: KeySet | None = None
        self._signers: dict[str, tuple[str, RSAKey | ECKey]] = {}
        self._lock = threading.Lock()

    def keys(self, services: Services) -> KeySet:
        """The keys, at most a minute old. Makes the first ones.

        While another thread reads them, or while the database cannot be read, those of before.
        Raises SQLAlchemy's errors if there are none.
        """
        return self._younger_than(KEEP, services)

    def newer_keys(self, services: Services) -> KeySet:
        """The keys, read again if that was not just done: another process may have made one."""
        return self._younger_than(BETWEEN_REREADS, services)

    def forget(self) -> None:
        """Read the keys at the next use: this process has changed them."""
        self._set = None

    def _younger_than(self, age: timedelta, services: Services) -> KeySet:
        found, now = self._set, clock.now()
        if found and found.read_at <= now < found.read_at + age:
            return found
        if found is None:
            with self._lock:
                return self._set or self._read(services)
        if self._lock.acquire(blocking=False):
            try:
                with suppress(SQLAlchemyError):
                    return self._read(services)
            finally:
                self._lock.release()
        return found

    def _read(self, services: Services) -> KeySet:
        now, stored = clock.now(), all_keys(services.database)
        # On SQLite a request that writes would wait for itself.
        if lacks_keys(stored) and not is_open_in_thread():
            from .rotation import make_missing  # which generates keys: seldom needed

            make_missing(services)
            stored = all_keys(services.database)
        keys = [RingKey(each, self._signer(services.sealing, each)) for each in stored]
        longest = longest_lifetime(services.database, services.settings)
        read = KeySet(keys, longest, now)
        self._set = None if lacks_keys(stored) else read
        return read

    def _signer(self, sealing: SealingKeys, key: StoredKey) -> "RSAKey | ECKey | None":
        """The private part, from memory if the row has not changed: to read one takes a while."""
        if key.private is None or key.state == "previous":
            return None
        known = self._signers.get(key.kid)
        if known and known[0] == key.private:
            return known[1]
        try:
            signer = read_key(sealing.open(key.private, binding_of(key.kid)))
        except (Unusable, ValueError):
            return None
        self._signers[key.kid] = key.private, signer
        return signer


_RINGS = Registered[Ring]("rings of signing keys")


def ring_of(services: Services) -> Ring:
    """The keys that this application has in this process."""
    return _RINGS.of(services).setdefault("ring", Ring())


def lacks_keys(stored: Sequence[StoredKey]) -> bool:
    """Whether an algorithm has no key that signs, or none that will sign next."""
    found = {(each.alg, each.state) for each in stored}
    return any((alg, state) not in found for alg in ALGORITHMS for state in ("current", "next"))


def require_signers(ctx: Context, *algs: str) -> None:
    """Raise `SigningUnavailable` (503) unless the keys of ``algs`` can sign; by default all.

    Call it before anything is written. Raises SQLAlchemy's errors.
    """
    keys = ring_of(ctx.services).keys(ctx.services)
    for alg in algs or ALGORITHMS:
        signer_in(keys, alg)


def signer_in(keys: KeySet, alg: str) -> RingKey:
    """The key that signs, with its private part. Raises `SigningUnavailable`."""
    current = keys.current(alg)
    if current is None or current.signer is None:
        raise SigningUnavailable
    return current
