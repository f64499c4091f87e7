"""Counting against a bucket: the limits library's fixed windows, on the storage at hand."""

from collections.abc import Mapping
from dataclasses import dataclass

import structlog
from limits import RateLimitItem, parse
from limits.storage import Storage
from limits.strategies import FixedWindowRateLimiter

from authsite import clock
from authsite.keys import KeyRing

from .buckets import BUCKETS
from .errors import TooManyAttempts

log = structlog.get_logger("authsite.throttle")

_SUBJECT_HEX = 40  # 160 bits: no two subjects share a counter


@dataclass(frozen=True, slots=True)
class Limiter:
    """The limits of this site: one value per bucket, one storage, one key for subjects."""

    storage: Storage
    values: Mapping[str, RateLimitItem]
    keys: KeyRing


def make_limiter(storage: Storage, values: Mapping[str, str], keys: KeyRing) -> Limiter:
    """A `Limiter`; ``values`` as in the settings (``5/5 minutes``), one for each bucket."""
    return Limiter(storage, {name: parse(values[name]) for name in BUCKETS}, keys)


def subject(limiter: Limiter, *parts: str) -> str:
    """``parts`` as they are stored: nobody reads addresses of mail or network out of a dump."""
    return limiter.keys.signing.mac("\0".join(parts).encode(errors="replace")).hex()[:_SUBJECT_HEX]


def key_of(limiter: Limiter, bucket: str, *parts: str) -> str:
    """The storage's key of one counter."""
    return limiter.values[bucket].key_for(bucket, subject(limiter, *parts))


def take(limiter: Limiter, bucket: str, *parts: str) -> bool:
    """Count one; whether it was still within the limit. Atomic over all processes."""
    return _windows(limiter).hit(limiter.values[bucket], bucket, subject(limiter, *parts))


def left(limiter: Limiter, bucket: str, *parts: str) -> bool:
    """Whether one more would be within the limit; counts nothing."""
    return _windows(limiter).test(limiter.values[bucket], bucket, subject(limiter, *parts))


def give_back(limiter: Limiter, bucket: str, *parts: str) -> None:
    """Take back one that was counted."""
    expiry = limiter.values[bucket].get_expiry()
    limiter.storage.incr(key_of(limiter, bucket, *parts), expiry, -1)


def refusal(limiter: Limiter, bucket: str, key: str) -> TooManyAttempts:
    """The error that says when the window of ``key`` ends."""
    log.info("too_many_attempts", bucket=bucket)
    return TooManyAttempts(limiter.storage.get_expiry(key) - clock.now().timestamp())


def _windows(limiter: Limiter) -> FixedWindowRateLimiter:
    return FixedWindowRateLimiter(limiter.storage)
