"""Changes of passkeys by their user: each with its proof."""

from typing import Any
from uuid import UUID

from authsite.account.factors import service as proof
from authsite.account.factors.service import Changed, finish, session_id
from authsite.platform.context import Context
from authsite.sign_in.factors.errors import NotOffered
from authsite.sign_in.methods.passkeys import changes, registration
from authsite.sign_in.methods.passkeys.stored import Passkey
from authsite.sign_in.reauthentication import ProofFields
from authsite.users.account import SignedInUser


def begin(ctx: Context, user: SignedInUser, given: ProofFields) -> dict[str, Any]:
    """The options of a new passkey, whose challenge stands for the proof in this sign-in.

    Raises `NotOffered`, `TooManyPasskeys`, and what `factors.service.require_for_adding` raises.
    """
    if not registration.can_add(ctx):
        raise NotOffered
    proved = proof.require_for_adding(ctx, user, given)
    return registration.options(ctx, user.account, session_id(user), proved)


def add(
    ctx: Context,
    user: SignedInUser,
    credential: str,
    name: str | None,
    end_others: bool | None,
) -> tuple[Passkey, Changed]:
    """Add the passkey that was made with the options of `begin`.

    ``end_others``: see `finish`. Raises what `registration.register` raises.
    """
    account, present = user.account, session_id(user)
    made = registration.register(ctx, account, present, credential, name, session_id=present)
    changed = finish(ctx, user, made.added, made.proved, made.amr, end_others)
    return made.passkey, changed


def remove(ctx: Context, user: SignedInUser, passkey_id: UUID | None, given: ProofFields) -> None:
    """Remove a passkey. Raises what `factors.service.require` and `changes.remove` raise."""
    proof.require(ctx, user, given)
    changes.remove(ctx, user.account, passkey_id, user.session_id)
