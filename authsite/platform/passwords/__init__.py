"""Passwords: hashing and checks (`Passwords`), the hash pool (`HashPool`), and the policy."""

from authsite.platform.passwords.hashing import HashCapacityExceeded, HashPool, Passwords

__all__ = ["HashCapacityExceeded", "HashPool", "Passwords"]
