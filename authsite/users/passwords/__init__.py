"""Passwords: how they are stored and checked (``Passwords``), how many at once (``HashGate``), and
which are refused when set (``strength``)."""

from authsite.users.passwords.gate import HashCapacityExceeded, HashGate
from authsite.users.passwords.passwords import Passwords

__all__ = ["HashCapacityExceeded", "HashGate", "Passwords"]
