"""Fixed windows of the limits library, counted in the configured storage."""

import hmac
from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from math import ceil

import structlog
from limits import RateLimitItem, RateLimitItemPerHour
from limits.storage import Storage
from limits.strategies import FixedWindowRateLimiter

from authsite.platform.crypto.keys import derived_key
from authsite.platform.runtime import clock
from authsite.platform.runtime.counters import RATE_LIMITED
from authsite.platform.settings import Settings
from authsite.platform.settings.rate_limits import RATE_LIMITS
from authsite.platform.settings.values import Network

from .errors import TooManyAttempts
from .networks import OWN_FACTOR, WIDE_FACTOR, is_in, wider_network
from .storage import Limited, count_together, refund_together

log = structlog.get_logger("authsite.rate_limit")

_ONCE = RateLimitItemPerHour(1)
_SUBJECT_HEX = 40  # 160 bits: collisions are negligible


def subject_key(settings: Settings) -> str:
    """The key of `subject_hash`, in hexadecimal: ``limits-key``, else that of the oldest secret.

    ``authsite secret rotate`` writes the latter to ``limits-key``, so that neither a new secret nor
    the end of an old one resets the counts. It does not reveal the secret.
    """
    if settings.limits_key:
        return settings.limits_key.reveal()
    return derived_key(settings.secret[-1].reveal(), "limits").secret.hex()


def subject_hash(key: str, *subject: str) -> str:
    """``subject`` as it is stored: a keyed hash, so that a dump reveals no address."""
    message = "\0".join(subject).encode(errors="replace")
    return hmac.digest(bytes.fromhex(key), message, "sha256").hex()[:_SUBJECT_HEX]


def counted_by(key: str) -> str:
    """What a stored ``key`` counts: the name of a limit, or what `recognized` notes."""
    first, second, *_rest = key.split("/")
    return second if first == _ONCE.namespace else first


class RateLimiter:
    """The limits of an application. ``windows``: those of each limit, the shortest first.

    ``key``: the `subject_key`. A subject is what a count belongs to, such as a client id and an
    address. ``own``: the networks of setting `own-networks`.
    """

    def __init__(
        self,
        storage: Storage,
        windows: Mapping[str, Sequence[RateLimitItem]],
        key: str,
        own: tuple[Network, ...] = (),
    ) -> None:
        self.storage = storage
        self.windows = windows
        self._own = own
        self._wide = {
            name: [_times(item, WIDE_FACTOR) for item in items]
            for name, items in windows.items()
            if RATE_LIMITS[name].counts_address
        }
        self._fixed = FixedWindowRateLimiter(storage)
        self.hashed = partial(subject_hash, key)
        """``subject`` as it is stored."""

    def _windows(self, name: str, subject: tuple[str, ...]) -> Iterator[tuple[RateLimitItem, str]]:
        """The windows that count ``subject``, in this order, and the subject as each stores it.

        If the limit counts an address, and that is the /64 of an IPv6 address, they are followed by
        those of the /48 around it, which allow `WIDE_FACTOR` times as much: there are 65,536 such
        addresses in a /48, which anyone can have.
        """
        hashed, factor = self.hashed(*subject), 1
        if self._own and RATE_LIMITS[name].more_at_own and is_in(subject[-1], self._own):
            factor = OWN_FACTOR
        for item in self.windows[name]:
            yield _times(item, factor), hashed
        if name in self._wide and (wider := wider_network(subject[-1])):
            hashed = self.hashed(*subject[:-1], wider)
            for item in self._wide[name]:
                yield _times(item, factor), hashed

    def acquire(self, name: str, *subject: str) -> str | None:
        """Count one. None within the limit, else the key of the window that is full.

        Atomic over all processes. A count that a full window rejects is not added to longer ones,
        nor to those of the network around the address (`_windows`).
        """
        windows = self._limited(name, subject)
        place = count_together(self.storage, windows)
        if place is None:
            return None
        RATE_LIMITED.add(name)
        return windows[place].key

    def full(self, name: str, *subject: str) -> str | None:
        """The key of a full window, or None if there is none; counts nothing."""
        for item, hashed in self._windows(name, subject):
            if not self._fixed.test(item, name, hashed):
                RATE_LIMITED.add(name)
                return item.key_for(name, hashed)
        return None

    def refund(self, name: str, *subject: str) -> None:
        """Undo one `acquire`."""
        refund_together(self.storage, self._limited(name, subject))

    def _limited(self, name: str, subject: tuple[str, ...]) -> list[Limited]:
        return [
            Limited(item.key_for(name, hashed), item.get_expiry(), item.amount)
            for item, hashed in self._windows(name, subject)
        ]

    def first(self, *subject: str) -> bool:
        """Whether this is the first call in this hour; True for one of concurrent calls."""
        hashed = self.hashed(*subject)
        return self._fixed.test(_ONCE, "first", hashed) and self._fixed.hit(_ONCE, "first", hashed)

    def first_exceeded(self, key: str) -> bool:
        """Whether this is the first call in the full window of ``key``, which `acquire` returned.

        True for one of concurrent calls.
        """
        mark = f"{key}/exceeded"
        if self.storage.get(mark):
            return False
        left = ceil(self.storage.get_expiry(key) - clock.now().timestamp())
        return self.storage.incr(mark, max(1, left)) == 1

    def error(self, name: str, key: str) -> TooManyAttempts:
        """The error that says when the window of ``key`` ends."""
        log.info("too_many_attempts", limit=name)
        return TooManyAttempts(self.storage.get_expiry(key) - clock.now().timestamp(), name)


def _times(item: RateLimitItem, factor: int) -> RateLimitItem:
    return item if factor == 1 else type(item)(item.amount * factor, item.multiples)
