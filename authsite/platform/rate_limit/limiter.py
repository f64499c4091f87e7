"""Fixed windows of the limits library, counted in the configured storage."""

import hmac
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from datetime import timedelta
from functools import lru_cache, partial
from importlib import import_module
from ipaddress import IPv6Address, IPv6Network, ip_address, ip_network
from math import ceil
from typing import Any, TypeVar, cast

import structlog
from limits import RateLimitItem, RateLimitItemPerHour, RateLimitItemPerSecond, parse_many
from limits.errors import ConfigurationError, StorageError
from limits.storage import MemoryStorage, Storage, storage_from_string
from limits.strategies import FixedWindowRateLimiter

from authsite.platform.crypto.keys import derived_key
from authsite.platform.db.engine import Database
from authsite.platform.runtime import clock
from authsite.platform.runtime.counters import RATE_LIMITED
from authsite.platform.settings import InvalidSetting, Settings, SettingsError
from authsite.platform.settings.rate_limits import RATE_LIMITS
from authsite.platform.settings.values import Network

from .errors import TooManyAttempts
from .storage import DatabaseStorage, Limited, Together, Window, count_together, refund_together

# The networks that client addresses are counted by.


IPV6_PREFIX = 64  # bits: what a provider gives to one customer, who can rotate within it
WIDE_PREFIX = 48  # bits: what many providers give on request, and tunnel brokers for nothing
WIDE_FACTOR = 10  # times the limit of one address
OWN_FACTOR = 20  # times the limit of one address, in `own-networks`
NO_ADDRESS = "-"


@lru_cache(maxsize=1024)  # parsing takes longer than a query's parameters
def network_of(address: str | None) -> str:
    """The key of a client address: an IPv4 address itself, the /64 of an IPv6 address (L05)."""
    if address is None:
        return NO_ADDRESS
    parsed = ip_address(address)
    if isinstance(parsed, IPv6Address):
        return str(ip_network((parsed.packed, IPV6_PREFIX), strict=False))
    return str(parsed)


@lru_cache(maxsize=1024)
def wider_network(network: str) -> str | None:
    """The /48 around the /64 that `network_of` returned; None for anything else."""
    if not network.endswith(f"/{IPV6_PREFIX}"):
        return None
    return str(IPv6Network(network).supernet(new_prefix=WIDE_PREFIX))


@lru_cache(maxsize=1024)
def is_in(network: str, own: tuple[Network, ...]) -> bool:
    """Whether the ``network`` that `network_of` returned is in one of the ``own`` networks.

    An own network may be a part of the /64 that is counted.
    """
    if network == NO_ADDRESS:
        return False
    parsed = ip_network(network)
    return any(each.version == parsed.version and each.overlaps(parsed) for each in own)


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


# Count in the memory of this process while the storage of the limits fails.
#
# The limits then hold for each process: the effective limit is at most the configured one times
# the number of processes (ASVS 16.5.3).


T = TypeVar("T")
PROBE_SECONDS = 2.0
Failures = tuple[type[Exception], ...]


class LocalStorage(MemoryStorage):
    """The library's counters in memory, with a lock.

    Without the lock, a read that finds no window may delete one that starts concurrently.
    """

    def __init__(self) -> None:
        super().__init__()
        self._lock = threading.RLock()

    def incr(self, key: str, expiry: float, amount: int = 1) -> int:
        """As the library's."""
        with self._lock:
            return super().incr(key, expiry, amount)

    def get(self, key: str) -> int:
        """As the library's."""
        with self._lock:
            return super().get(key)

    def clear(self, key: str) -> None:
        """As the library's."""
        with self._lock:
            super().clear(key)


class FallbackStorage(Together):
    """A storage, and counters in the memory of this process while it fails.

    ``connect`` returns the storage, and is called when it is first used, since the client of a
    Redis cluster connects when it is made. ``failures``: errors of the storage besides
    `StorageError` and `OSError`.

    Only the requests that detect the failure wait for the timeout: after that a separate thread
    checks every ``probe_seconds`` whether the storage works again.
    """

    def __init__(
        self,
        connect: Callable[[], Storage],
        failures: Failures = (),
        probe_seconds: float = PROBE_SECONDS,
    ) -> None:
        super().__init__()
        self._connect, self._connected = connect, cast(Storage | None, None)
        self._failures: Failures = (StorageError, OSError, *failures)
        self._probe_seconds = probe_seconds
        self._switching = threading.Lock()
        self._failed = False
        self._local: Storage | None = None

    @property
    def is_degraded(self) -> bool:
        """Whether this process counts in its own memory because the storage fails."""
        return self._failed

    @property
    def base_exceptions(self) -> tuple[type[Exception], ...]:
        """Empty: every error of the storage is handled here."""
        return ()

    def incr(self, key: str, expiry: int, amount: int = 1) -> int:
        """Add to a count and return it."""
        return self._call(lambda storage: storage.incr(key, expiry, amount))

    def get(self, key: str) -> int:
        """The count."""
        return self._call(lambda storage: storage.get(key))

    def get_expiry(self, key: str) -> float:
        """The end of its window, in seconds since 1970."""
        return self._call(lambda storage: storage.get_expiry(key))

    def read(self, keys: Sequence[str]) -> Mapping[str, Window] | None:
        """The running windows of ``keys``, if the storage in use reads them together."""
        return self._call(
            lambda storage: storage.read(keys) if isinstance(storage, Together) else None
        )

    def count_together(self, windows: Sequence[Limited]) -> int | None:
        """Count one in each window, up to the first one that is full: its place, or None."""
        return self._call(lambda storage: count_together(storage, windows))

    def refund_together(self, windows: Sequence[Limited]) -> None:
        """Undo a count in each window."""
        self._call(lambda storage: refund_together(storage, windows))

    def clear(self, key: str) -> None:
        """Delete the count."""
        self._call(lambda storage: storage.clear(key))

    def reset(self) -> int | None:
        """Delete all counts."""
        return self._call(lambda storage: storage.reset())

    def check(self) -> bool:
        """Whether the storage itself works."""
        return not self._failed

    def _storage(self) -> Storage:
        self._connected = self._connected or self._connect()
        return self._connected

    def _call(self, operation: Callable[[Storage], T]) -> T:
        if not self._failed:
            try:
                return operation(self._connected or self._storage())
            except self._failures as error:
                self._switch_to_local(error)
        return operation(self._local or self._storage())

    def _switch_to_local(self, error: Exception) -> None:
        with self._switching:
            if self._failed:
                return
            self._local = self._local or LocalStorage()
            self._failed = True
        # The type only: the message may contain the URL, and the URL a password.
        cause = type(error.__cause__ or error).__name__
        log.error("limits_storage_failed", cause=cause, fallback="memory of each process")
        threading.Thread(target=self._probe, name="limits-probe", daemon=True).start()

    def _probe(self) -> None:
        pause = threading.Event()
        pause.wait(self._probe_seconds)  # also after a single failure
        while not self._is_working():
            pause.wait(self._probe_seconds)
        with self._switching:
            self._failed = False
        log.info("limits_storage_recovered")

    def _is_working(self) -> bool:
        try:
            self._storage().incr("probe", 1)  # writes must work, not only reads
        except Exception:  # the probe thread must survive any error
            return False
        return True


# Make the `RateLimiter` and the storage that the settings describe; nothing connects yet.


# Seconds. A storage on the network normally answers in one or two milliseconds. Requests must not
# be delayed by a storage that fails.
TIMEOUT = 0.08


def make_limiter(settings: Settings, database: Database) -> RateLimiter:
    """The limiter that ``settings`` describe. Raises `SettingsError`."""
    windows = {
        name: sorted(parse_many(value), key=RateLimitItem.get_expiry)
        for name, value in settings.limit_values.items()
    }
    # While the limit suppresses mails, the link of an earlier mail must still work.
    windows["forgot-email"] = [
        _at_most(item, settings.reset_expires_in) for item in windows["forgot-email"]
    ]
    storage, key = make_storage(settings, database), subject_key(settings)
    return RateLimiter(storage, windows, key, settings.own_networks)


def make_storage(settings: Settings, database: Database) -> Storage:
    """The storage that all limits are counted in.

    Raises `SettingsError` when the library that the storage needs is not installed.
    """
    storage = settings.limits_storage.reveal()
    if storage == "memory":
        return LocalStorage()
    if storage == "database":
        return FallbackStorage(lambda: DatabaseStorage(database))
    return _redis(storage)


def _redis(url: str) -> Storage:
    package = "valkey" if url.startswith("valkey") else "redis"
    options: dict[str, Any] = {"socket_timeout": TIMEOUT, "socket_connect_timeout": TIMEOUT}
    try:
        # Redis and Valkey are the same library under two names.
        errors = import_module(f"{package}.exceptions")
        backoff, retry = import_module(f"{package}.backoff"), import_module(f"{package}.retry")
    except ImportError:
        advice = f"this storage needs a package: pip install {package}, or take `database`"
        raise SettingsError([InvalidSetting("authsite.limits-storage", advice)]) from None
    # The default is three retries with pauses of seconds.
    options["retry"] = retry.Retry(backoff.NoBackoff(), 0)

    def connect() -> Storage:
        return cast(Storage, storage_from_string(url, wrap_exceptions=True, **options))

    if "+cluster" in url:
        # It is not a subclass of the library's other errors, which `limits` wraps.
        return FallbackStorage(connect, (getattr(errors, f"{package.title()}ClusterException"),))
    try:
        storage = connect()  # it connects when it is first used
    except (ConfigurationError, ValueError):
        advice = (
            "give redis://host:6379/0, redis+sentinel://host:26379/name or"
            " redis+cluster://host:6379,host:6379"
        )
        raise SettingsError([InvalidSetting("authsite.limits-storage", advice)]) from None
    return FallbackStorage(lambda: storage)


def _at_most(item: RateLimitItem, longest: timedelta) -> RateLimitItem:
    if item.get_expiry() <= longest.total_seconds():
        return item
    return RateLimitItemPerSecond(item.amount, max(1, int(longest.total_seconds())))
