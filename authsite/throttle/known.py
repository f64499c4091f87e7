"""Addresses from which an account was logged in to of late: they have a limit of their own."""

from authsite import clock

from .limiter import Limiter, subject

REMEMBERED = 30 * 24 * 60 * 60  # seconds since the last success, or half of that


def is_known(limiter: Limiter, name: str, address: str) -> bool:
    """Whether ``name`` logged in from ``address`` of late."""
    return limiter.storage.get(_key(limiter, name, address)) > 0


def remember(limiter: Limiter, name: str, address: str) -> None:
    """``name`` logged in from ``address``. Written only when the last note is growing old."""
    key = _key(limiter, name, address)
    if limiter.storage.get_expiry(key) - clock.now().timestamp() < REMEMBERED / 2:
        limiter.storage.clear(key)
        limiter.storage.incr(key, REMEMBERED)


def _key(limiter: Limiter, name: str, address: str) -> str:
    return f"known/{subject(limiter, name, address)}"
