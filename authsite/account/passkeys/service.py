"""Changes of passkeys by their user: each with its proof and its limit."""

from typing import Any
from uuid import UUID

from authsite.context import Context
from authsite.platform.rate_limit import limit_subject
from authsite.sign_in.methods.passkeys import changes, registration
from authsite.sign_in.methods.passkeys.registration import Registered
from authsite.sign_in.reauthentication import ProofFields, require_proof
from authsite.users.account import SignedInUser
from authsite.users.errors import SignInEnded


def begin(ctx: Context, user: SignedInUser, given: ProofFields) -> dict[str, Any]:
    """The options of a new passkey, whose challenge stands for the proof in this sign-in.

    Raises what `require_proof` and `registration.options` raise.
    """
    require_proof(ctx, user, given)
    return registration.options(ctx, user.account, _session(user))


def add(
    ctx: Context, user: SignedInUser, credential: str, name: str | None, *, end_others: bool
) -> Registered:
    """Add the passkey that was made with the options of `begin`.

    Raises what `registration.register` raises, and `TooManyAttempts`.
    """
    ctx.limits.count("factor-changes", limit_subject(user.account.id))
    session_id = _session(user)
    return registration.register(
        ctx,
        user.account,
        session_id,
        credential,
        name,
        session_id=session_id,
        end_others=end_others,
    )


def remove(ctx: Context, user: SignedInUser, passkey_id: UUID | None, given: ProofFields) -> None:
    """Remove a passkey. Raises what `require_proof` and `changes.remove` raise."""
    require_proof(ctx, user, given)
    ctx.limits.count("factor-changes", limit_subject(user.account.id))
    changes.remove(ctx, user.account, passkey_id, user.session_id)


def _session(user: SignedInUser) -> UUID:
    if user.session_id is None:
        raise SignInEnded
    return user.session_id
