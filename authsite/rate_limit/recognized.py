"""Client addresses: as they are counted, and which are recognized as an account's own.

`subject_of` is the key under which the addresses and browsers of an owner are recognized. `forget`
changes it, so that none of them is recognized any more.
"""

from functools import lru_cache
from ipaddress import IPv6Address, ip_address, ip_network

from authsite import clock

from .limiter import RateLimiter

IPV6_PREFIX = 64  # bits: what a provider gives to one customer, who can rotate within it
NO_ADDRESS = "-"
RECOGNIZED_FOR = 30 * 24 * 60 * 60  # seconds; see `remember`
FORGOTTEN_FOR = 10 * 365 * 24 * 60 * 60  # seconds; must be longer than anything is recognized


@lru_cache(maxsize=1024)  # parsing takes longer than a query's parameters
def network_of(address: str | None) -> str:
    """The key of a client address: an IPv4 address itself, the /64 of an IPv6 address (L05)."""
    if address is None:
        return NO_ADDRESS
    parsed = ip_address(address)
    if isinstance(parsed, IPv6Address):
        if parsed.ipv4_mapped:
            return str(parsed.ipv4_mapped)
        return str(ip_network((parsed.packed, IPV6_PREFIX), strict=False))
    return str(parsed)


def subject_of(limiter: RateLimiter, owner: str) -> str:
    """The key for what is recognized of ``owner``; no login name has a blank, so it is unique."""
    times = limiter.storage.get(_forgotten(limiter, owner))
    return f"{owner} {times}" if times else owner


def forget(limiter: RateLimiter, owner: str) -> None:
    """From now on no address and no browser of ``owner`` is recognized, until it logs in again."""
    limiter.storage.incr(_forgotten(limiter, owner), FORGOTTEN_FOR)


def is_recognized(limiter: RateLimiter, subject: str, address: str) -> bool:
    """Whether the owner with the key ``subject`` logged in from ``address`` recently."""
    return limiter.storage.get(_key(limiter, subject, address)) > 0


def remember(limiter: RateLimiter, subject: str, address: str) -> None:
    """Record a login from ``address``, unless recorded in the last 15 days."""
    key = _key(limiter, subject, address)
    if limiter.storage.get_expiry(key) - clock.now().timestamp() < RECOGNIZED_FOR / 2:
        limiter.storage.clear(key)
        limiter.storage.incr(key, RECOGNIZED_FOR)


def _key(limiter: RateLimiter, subject: str, address: str) -> str:
    return f"recognized/{limiter.hashed(subject, address)}"


def _forgotten(limiter: RateLimiter, owner: str) -> str:
    return f"forgotten/{limiter.hashed(owner)}"
