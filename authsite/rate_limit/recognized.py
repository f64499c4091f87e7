"""Client addresses: as they are counted, and which are recognized as an account's own."""

from functools import lru_cache
from ipaddress import IPv6Address, ip_address, ip_network

from authsite import clock

from .limiter import RateLimiter

IPV6_PREFIX = 64  # bits: what a provider gives to one customer, who can rotate within it
NO_ADDRESS = "-"
RECOGNIZED_FOR = 30 * 24 * 60 * 60  # seconds; see `remember`


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


def is_recognized(limiter: RateLimiter, owner: str, address: str) -> bool:
    """Whether ``owner`` logged in from ``address`` recently."""
    return limiter.storage.get(_key(limiter, owner, address)) > 0


def remember(limiter: RateLimiter, owner: str, address: str) -> None:
    """Record a login of ``owner`` from ``address``, unless recorded in the last 15 days."""
    key = _key(limiter, owner, address)
    if limiter.storage.get_expiry(key) - clock.now().timestamp() < RECOGNIZED_FOR / 2:
        limiter.storage.clear(key)
        limiter.storage.incr(key, RECOGNIZED_FOR)


def _key(limiter: RateLimiter, owner: str, address: str) -> str:
    return f"recognized/{limiter.hashed(owner, address)}"
