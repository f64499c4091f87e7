"""Reset tokens: sealed values without a table.

A token contains only its expiry. It is bound to user id, ``recovery_version`` and stored address:
a reset, a password change, disabling and a new address invalidate all links that were mailed
before. Ending sign-ins does not, so that an intruder cannot invalidate the owner's link.
"""

import struct
from datetime import datetime
from typing import Protocol
from uuid import UUID

from authsite.crypto.keys import KeyRing
from authsite.crypto.sealed import SealedFormat

PURPOSE = "reset token"
_FORMAT = SealedFormat()


class Recoverable(Protocol):
    """A user whose password can be reset."""

    @property
    def id(self) -> UUID: ...
    @property
    def recovery_version(self) -> int: ...
    @property
    def email(self) -> str: ...


def make(ring: KeyRing, user: Recoverable, expires: datetime) -> str:
    """The token for this state of the user, valid until ``expires`` (whole seconds)."""
    return _FORMAT.seal(ring, expires=int(expires.timestamp()), bound=_state(user))


def is_valid(ring: KeyRing, text: str, user: Recoverable, now: datetime) -> bool:
    """Whether ``text`` is a token for this state of the user, and not expired."""
    return _FORMAT.unseal(ring, text, now, _state(user)) is not None


def _state(user: Recoverable) -> bytes:
    return user.id.bytes + struct.pack(">Q", user.recovery_version) + user.email.encode()
