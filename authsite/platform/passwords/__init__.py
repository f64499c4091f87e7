"""Passwords: hashing and checks (`Passwords`), the hash pool (`HashPool`), and the policy."""

from authsite.platform.passwords.hashing import Passwords
from authsite.platform.passwords.pool import HashCapacityExceeded, HashPool

__all__ = ["HashCapacityExceeded", "HashPool", "Passwords"]
