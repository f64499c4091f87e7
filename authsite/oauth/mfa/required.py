"""What a client is told about a pending login, and the text of its token."""

from typing import Any, Final
from uuid import UUID

from authsite.platform.context import Context
from authsite.platform.http.errors import FieldError
from authsite.platform.runtime import clock
from authsite.sign_in import pending as pending_logins
from authsite.sign_in.factors.names import PASSKEY
from authsite.sign_in.gate import PendingEnded, find_pending
from authsite.sign_in.method import Pending
from authsite.sign_in.methods.passkeys import assertion

from .errors import LoginEnded, MfaRequired

PREFIX: Final = "mt_"


def key_of(mfa_token: str) -> str | None:
    """The key of the pending login with this token; None for a text that is not such a token."""
    return mfa_token.removeprefix(PREFIX) if mfa_token.startswith(PREFIX) else None


def answer(ctx: Context, pending: Pending, *details: FieldError) -> MfaRequired:
    """The answer to raise for a pending login that is stored, and then committed.

    ``details``: the errors of what was sent.
    """
    left = pending.expires_at - clock.now() if pending.expires_at else pending_logins.LIFETIME
    members: dict[str, Any] = {
        "mfa_token": f"{PREFIX}{pending.key}",
        "expires_in": max(0, int(left.total_seconds())),
        "mfa_methods": list(pending.methods),
        "mfa_enroll": pending.adds_factor,
    }
    options = assertion.pending_options(ctx, pending) if PASSKEY in pending.methods else None
    if options:
        members["passkey_options"] = options
    return MfaRequired(members, details=details)


def find_of_client(ctx: Context, mfa_token: str) -> Pending:
    """The pending login with this token, of whichever client. Raises `LoginEnded`.

    Never one of a page, whose key is in a cookie.
    """
    key = key_of(mfa_token)
    found = pending_logins.find(ctx, key) if key else None
    if found is None or found.target.client_id is None:
        raise LoginEnded
    return found


def find(ctx: Context, mfa_token: str, client_id: UUID) -> Pending:
    """The pending login with this token, which this client has begun. Raises `LoginEnded`."""
    try:
        return find_pending(ctx, key_of(mfa_token), client_id)
    except PendingEnded:
        raise LoginEnded from None
