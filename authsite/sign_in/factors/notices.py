"""Notices by mail about second factors and passkeys, and about a password that somebody knows.

They go only to an address that the user has confirmed. Those about a change have the link "This was
not me" (`authsite.account.not_me`).
"""

from datetime import datetime, timedelta
from typing import Any, Literal, TypeAlias
from uuid import UUID

from sqlalchemy import select

from authsite.context import Context
from authsite.platform.mail import outbox
from authsite.platform.mail.outbox import Recipient
from authsite.platform.registrations import Registered
from authsite.platform.runtime import clock
from authsite.sign_in.methods.passkeys.models import Passkey
from authsite.sign_in.methods.totp.models import TotpFactor
from authsite.sign_in.notices import LINK_LIFETIME
from authsite.users.account import Account
from authsite.users.models import User

Kind: TypeAlias = Literal[
    "factor_added",
    "factor_removed",
    "passkey_added",
    "passkey_removed",
    "recovery_codes_created",
    "recovery_code_used",
    "passkey_cloned",
]
KINDS: tuple[Kind, ...] = Kind.__args__  # type: ignore[attr-defined]  # of the alias
AT_ONCE = timedelta(seconds=0.5)  # between two writes of one request

# The tables whose rows are sign-ins, with an `id` and a `created_at`.
SIGN_INS = Registered[type[Any]]("tables of sign-ins")


def changed(ctx: Context, account: Account, kind: Kind, session_id: UUID | None) -> None:
    """Enqueue the notice of a change, in its transaction and after its writes.

    ``session_id``: the sign-in that made it; None for a sign-in that is not complete, or a clone.
    The link removes what was added since that sign-in.
    """
    ctx.db.flush()
    user = ctx.db.execute(
        select(User.email, User.email_verified_at, User.factors_since).where(User.id == account.id)
    ).one_or_none()
    if user is None or user.email_verified_at is None:
        return
    at = clock.now()
    if kind in ("factor_added", "passkey_added") and _is_first(ctx, account.id, user.factors_since):
        at = min(at, user.factors_since)
    outbox.put(
        ctx,
        outbox.NewMail(
            kind,
            Recipient(account.id, user.email),
            about_id=session_id,
            about_since=_begun(ctx, session_id) or at - AT_ONCE,
            expires_at=at + LINK_LIFETIME,
            names_device=True,
        ),
    )


def send_reset(ctx: Context, recipient: Recipient) -> None:
    """Enqueue the notice that an administrator has removed all factors."""
    outbox.put(ctx, outbox.NewMail("factors_reset", recipient))


def _is_first(ctx: Context, user_id: UUID, since: datetime | None) -> bool:
    """Whether the user's only factor is the one with which ``factors_since`` began."""
    created = [
        at
        for model in (TotpFactor, Passkey)
        for at in ctx.db.scalars(select(model.created_at).where(model.user_id == user_id))
    ]
    return since is not None and len(created) == 1 and abs(created[0] - since) < AT_ONCE


def _begun(ctx: Context, session_id: UUID | None) -> datetime | None:
    """When the sign-in began; None if it is not known."""
    if session_id is None:
        return None
    for model in SIGN_INS.of(ctx.services).values():
        began: datetime | None = ctx.db.scalar(
            select(model.created_at).where(model.id == session_id)
        )
        if began is not None:
            return began
    return None
