"""The challenges of passkeys: sealed values that cost no row until one succeeds.

A challenge lasts ten minutes, and is bound to its purpose and to what asked for it: the browser
(the seed of its CSRF cookie), a client, a pending login or a signed-in session. A success uses it
up (Web Authentication Level 3, section 13.4.3).
"""

import secrets
from datetime import UTC, datetime, timedelta
from typing import Any, NamedTuple
from uuid import UUID

from sqlalchemy.orm import Session

from authsite.platform.context import Context
from authsite.platform.crypto.sealed import SealedFormat
from authsite.platform.runtime import clock
from authsite.platform.single_use import service as single_use
from authsite.sign_in.factors.offers import Proved

PURPOSE = "passkey challenge"
LIFETIME = timedelta(minutes=10)
RENEW_AFTER = timedelta(minutes=9)
"""After which a page asks for another one, while it waits for the user to choose a passkey."""
HANDLE_SIZE = 32  # bytes

_FORMAT = SealedFormat("16s")  # a nonce
# Also the user handle, `factor_version`, and the proof before: its time and its ``amr``.
_REGISTRATION = SealedFormat("16s32sIQ64p")


class Challenge(NamedTuple):
    """A challenge that was opened: its text, as the browser sends it.

    Of a registration also the user handle, what the user has proved before, and the user's
    ``factor_version`` of that time: after a change of the factors another proof may be needed.
    """

    text: str
    handle: bytes = b""
    proved: Proved = Proved((), datetime.fromtimestamp(0, UTC))
    factor_version: int = 0

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
    """What a challenge for a second factor is bound to: a pending login, or a session (step-up)."""
    return f"second factor of {pending_id}"


def new(ctx: Context, bound: str) -> str:
    """A challenge in base64url, as it stands in the options and in the browser's answer."""
    return _seal(ctx, _FORMAT, bound)


def new_registration(
    ctx: Context, bound_id: UUID, handle: bytes, factor_version: int, proved: Proved
) -> str:
    """A challenge for a new passkey of the user with this handle, who has ``proved`` that before.

    ``bound_id``: of the session, or of the pending login that asks for a factor.
    """
    values = handle, factor_version, int(proved.at.timestamp()), " ".join(proved.amr).encode()
    return _seal(ctx, _REGISTRATION, f"registration in {bound_id}", *values)


def opened(ctx: Context, text: str, bound: str) -> Challenge | None:
    """The challenge, unless it has expired or is bound to something else."""
    return Challenge(text) if _open(ctx, _FORMAT, text, bound) else None


def opened_registration(ctx: Context, text: str, bound_id: UUID) -> Challenge | None:
    """`opened` for one of `new_registration`."""
    values = _open(ctx, _REGISTRATION, text, f"registration in {bound_id}")
    if values is None:
        return None
    _, handle, factor_version, at, amr, _ = values
    proved = Proved(tuple(amr.decode().split()), datetime.fromtimestamp(at, UTC))
    return Challenge(text, handle, proved, factor_version)


def _seal(ctx: Context, form: SealedFormat, bound: str, *fields: object) -> str:
    expires = int((clock.now() + LIFETIME).timestamp())
    ring, nonce = ctx.services.keys[PURPOSE], secrets.token_bytes(16)
    return form.seal(ring, nonce, *fields, expires=expires, bound=bound.encode())


def _open(ctx: Context, form: SealedFormat, text: str, bound: str) -> tuple[Any, ...] | None:
    ring = ctx.services.keys[PURPOSE]
    return form.unseal(ring, text, clock.now(), bound.encode(errors="replace"))
