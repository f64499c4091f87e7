"""The challenges of passkeys: sealed values that cost no row until one succeeds.

A challenge lasts ten minutes, and is bound to its purpose and to what asked for it: the browser
(the seed of its CSRF cookie), a client, a pending login or a signed-in session. A success uses it
up (Web Authentication Level 3, section 13.4.3).
"""

import secrets
from datetime import timedelta
from typing import NamedTuple
from uuid import UUID

from sqlalchemy.orm import Session

from authsite.context import Context
from authsite.platform.crypto.sealed import SealedFormat
from authsite.platform.runtime import clock
from authsite.platform.single_use import service as single_use

PURPOSE = "passkey challenge"
LIFETIME = timedelta(minutes=10)
RENEW_AFTER = timedelta(minutes=9)
"""After which a page asks for another one, while it waits for the user to choose a passkey."""
HANDLE_SIZE = 32  # bytes

_FORMAT = SealedFormat("16s32s")  # a nonce, and the user handle of a registration


class Challenge(NamedTuple):
    """A challenge that was opened: its text, as the browser sends it, and the user handle."""

    text: str
    handle: bytes

    def spend(self, db: Session) -> bool:
        """Use the challenge up in the transaction of ``db``; False if it was used before."""
        return single_use.spend(db, f"{PURPOSE} {self.text}", clock.now() + LIFETIME)


def of_browser(seed: str) -> str:
    """What a challenge of the login page is bound to; ``seed``: that of the CSRF cookie."""
    return f"sign-in in browser {seed}"


def of_client(client_id: UUID) -> str:
    """What a challenge for a sign-in at this client is bound to."""
    return f"sign-in at client {client_id}"


def of_pending(pending_id: UUID) -> str:
    """What a challenge for a second factor is bound to."""
    return f"second factor of {pending_id}"


def of_session(session_id: UUID) -> str:
    """What a challenge for a step-up in this session is bound to."""
    return f"step-up in {session_id}"


def of_registration(bound_id: UUID) -> str:
    """What a challenge for a new passkey is bound to: a session or an enrolling pending login."""
    return f"registration in {bound_id}"


def new(ctx: Context, bound: str, handle: bytes = bytes(HANDLE_SIZE)) -> str:
    """A challenge in base64url, as it stands in the options and in the browser's answer."""
    expires = int((clock.now() + LIFETIME).timestamp())
    ring = ctx.services.keys[PURPOSE]
    nonce = secrets.token_bytes(16)
    return _FORMAT.seal(ring, nonce, handle, expires=expires, bound=bound.encode())


def opened(ctx: Context, text: str, bound: str) -> Challenge | None:
    """The challenge, unless it has expired or is bound to something else."""
    ring = ctx.services.keys[PURPOSE]
    values = _FORMAT.unseal(ring, text, clock.now(), bound.encode(errors="replace"))
    return Challenge(text, values[1]) if values else None
