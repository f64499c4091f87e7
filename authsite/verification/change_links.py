"""The tokens of the links that the present or former address gets: cancel a change, take it back.

The token of a cancel link is bound to the pending change and ends with it: it has no expiry of its
own, since `pending.prolong` extends a change. The token of a revert link names one completed change
and is bound to nothing that a later change of the account could raise or replace.
"""

from datetime import datetime
from uuid import UUID

from authsite.crypto.keys import KeyRing
from authsite.crypto.sealed import SealedFormat
from authsite.ids import as_id

CANCEL = "cancel address change"
REVERT = "revert address change"
_REVERT = SealedFormat("16s")


def cancel_token(ring: KeyRing, user_id: UUID, epoch: int, pending_email: str) -> str:
    """The token that cancels the change of the user to ``pending_email``.

    ``epoch`` is the user's while the change is pending.
    """
    return f"{user_id}.{ring.sign(_pending(user_id, epoch, pending_email))}"


def user_of_cancel_token(token: str) -> UUID | None:
    """The user that a cancel token names; `is_cancel_token` checks it."""
    return as_id(token.partition(".")[0])


def is_cancel_token(
    ring: KeyRing, token: str, user_id: UUID, epoch: int, pending_email: str
) -> bool:
    """Whether ``token`` cancels this change."""
    message = _pending(user_id, epoch, pending_email)
    return ring.is_signature(message, token.partition(".")[2])


def revert_token(ring: KeyRing, change_id: UUID, expires: datetime) -> str:
    """The token that takes the completed change back, until ``expires`` (whole seconds)."""
    return _REVERT.seal(ring, change_id.bytes, expires=int(expires.timestamp()))


def read_revert_token(ring: KeyRing, token: str, now: datetime) -> UUID | None:
    """The id of the change that ``token`` takes back; None if it is invalid or has expired."""
    values = _REVERT.unseal(ring, token, now)
    return UUID(bytes=values[0]) if values else None


def _pending(user_id: UUID, epoch: int, pending_email: str) -> bytes:
    return f"{CANCEL}\n{user_id}\n{epoch}\n{pending_email}".encode()
