"""List, rename and remove the passkeys of a user, and what browsers are told about them."""

from collections.abc import Sequence
from typing import Any
from uuid import UUID

from sqlalchemy import delete, select, update

from authsite.platform.context import Context
from authsite.platform.settings.rules import relying_party
from authsite.sign_in.factors import service as factors
from authsite.sign_in.factors.errors import UnknownFactor
from authsite.sign_in.factors.policy import PASSKEY
from authsite.users.account import Account

from .stored import Passkey, chosen


def list_of(ctx: Context, user_id: UUID) -> Sequence[Passkey]:
    """The passkeys of a user, in the order of their creation."""
    query = select(Passkey).where(Passkey.user_id == user_id)
    return ctx.db.scalars(query.order_by(Passkey.created_at, Passkey.id)).all()


def rename(ctx: Context, user_id: UUID, passkey_id: UUID | None, name: str) -> Passkey:
    """Give a passkey of the user another name.

    Raises `UnknownFactor`, also for None, and what `stored.chosen` raises.
    """
    row = ctx.db.scalar(
        update(Passkey)
        .where(Passkey.id == passkey_id, Passkey.user_id == user_id)
        .values(name=chosen(name))
        .returning(Passkey)
        .execution_options(synchronize_session="fetch")
    )
    if row is None:
        raise UnknownFactor
    return row


def remove(
    ctx: Context, account: Account, passkey_id: UUID | None, session_id: UUID | None
) -> None:
    """Remove a passkey of the user, who has just given a proof.

    ``session_id``: the sign-in that removes it. Raises `UnknownFactor`, and the errors of
    `factors.service.removed` where it may not go.
    """
    factors.lock(ctx, account)
    gone = ctx.db.scalar(
        delete(Passkey)
        .where(Passkey.id == passkey_id, Passkey.user_id == account.id)
        .returning(Passkey.id)
        .execution_options(synchronize_session="fetch")
    )
    if gone is None:
        raise UnknownFactor
    factors.removed(ctx, account, PASSKEY, gone, session_id)


def signals(ctx: Context, account: Account) -> dict[str, Any] | None:
    """What a page of a signed-in user tells the browser; None without passkeys.

    The arguments of ``signalAllAcceptedCredentials`` and ``signalCurrentUserDetails`` (Web
    Authentication Level 3, section 5.1.10): the browser hides those that were removed here, and
    shows the present name.
    """
    party = relying_party(ctx.settings)
    found = [each for each in list_of(ctx, account.id) if party and each.rp_id == party.id]
    if party is None or not found:
        return None
    return {
        "rpId": party.id,
        "userId": found[0].user_handle,
        "allAcceptedCredentialIds": [each.credential_id for each in found],
        "name": account.email,
        "displayName": account.name or account.email,
    }
