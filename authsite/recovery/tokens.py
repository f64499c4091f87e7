"""Reset tokens: sealed values that are not stored in a table.

A token contains only its expiry. It is bound to the user's id, ``recovery_version`` and stored
address. So a new password, a new address and disabling the user invalidate all links that were
mailed before. Ending the sign-ins does not: otherwise an intruder could invalidate the owner's
link.

The short link to authsite's own page has the user's id before the token, instead of the address.
"""

import re
import struct
from datetime import datetime
from typing import Protocol
from uuid import UUID

from authsite.platform.crypto.keys import KeyRing
from authsite.platform.crypto.sealed import SealedFormat

PURPOSE = "reset token"
_FORMAT = SealedFormat()
_LINK = re.compile(r"([0-9a-f]{32})(.+)")


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


def was_made(ring: KeyRing, text: str, user: Recoverable) -> bool:
    """Whether ``text`` is a token for the present state of ``user``, expired or not."""
    return _FORMAT.unseal_expired(ring, text, _state(user)) is not None


def for_link(user: Recoverable, token: str) -> str:
    """What the short link to authsite's own page ends with."""
    return f"{user.id.hex}{token}"


def split_link(text: str) -> tuple[UUID | None, str]:
    """The user's id and the token of a short link; the id is None if there is none."""
    parts = _LINK.fullmatch(text)
    return (UUID(parts[1]), parts[2]) if parts else (None, "")


def _state(user: Recoverable) -> bytes:
    return user.id.bytes + struct.pack(">Q", user.recovery_version) + user.email.encode()
