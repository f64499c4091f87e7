"""Reset tokens: sealed values that are not stored in a table.

A token contains only its expiry. It is bound to the user's id, ``recovery_version`` and stored
address. So a new password, a new address and disabling the user invalidate all links that were
mailed before. Ending the sign-ins does not: otherwise an intruder could invalidate the owner's
link.
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
    """Make a token for the present state of ``user``, valid until ``expires`` (whole seconds)."""
    return _FORMAT.seal(ring, expires=int(expires.timestamp()), bound=_state(user))


def is_valid(ring: KeyRing, text: str, user: Recoverable, now: datetime) -> bool:
    """Whether ``text`` is a token for the present state of ``user`` and not expired at ``now``."""
    return _FORMAT.unseal(ring, text, now, _state(user)) is not None


def _state(user: Recoverable) -> bytes:
    return user.id.bytes + struct.pack(">Q", user.recovery_version) + user.email.encode()
