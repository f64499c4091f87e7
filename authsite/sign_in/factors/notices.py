"""Notices by mail about second factors: each change, and wrong ones behind a right password.

They go only to an address that the user has confirmed. Those about a change have the link "This was
not me" (`authsite.account.not_me`).
"""

from datetime import datetime, timedelta
from typing import Any, Literal, NamedTuple, TypeAlias
from uuid import UUID

from sqlalchemy import bindparam, exists, func, literal_column, select

from authsite.platform.context import Context
from authsite.platform.db import PreparedQuery
from authsite.platform.mail import outbox
from authsite.platform.mail.outbox import OutboxMessage, Recipient
from authsite.platform.rate_limit import limit_subject
from authsite.platform.registrations import Registered
from authsite.platform.runtime import clock
from authsite.sign_in.notices import LINK_LIFETIME
from authsite.sign_in.pending import PendingLogin
from authsite.users.account import PASSWORD, Account
from authsite.users.models import User

Kind: TypeAlias = Literal[
    "factor_added",
    "factor_removed",
    "passkey_added",
    "passkey_removed",
    "passkey_asked",
    "passkey_not_asked",
    "recovery_codes_created",
    "recovery_code_used",
    "passkey_cloned",
]
KINDS: tuple[Kind, ...] = Kind.__args__  # type: ignore[attr-defined]  # of the alias
FAILURES = 3  # after which the user learns that the password is known
DAY = timedelta(days=1)
AT_ONCE = timedelta(seconds=0.5)  # between two writes of one request

# The tables whose rows are sign-ins, with an `id` and a `created_at`.
SIGN_INS = Registered[type[Any]]("tables of sign-ins")


class Failed(NamedTuple):
    """The wrong factors after a right password, and whether a notice of them was mailed."""

    failures: int | None
    notified: bool


_SINCE = bindparam("since", type_=PendingLogin.__table__.c.created_at.type)
FAILED = PreparedQuery(
    select(
        func.sum(PendingLogin.failures).label("failures"),
        exists()
        .where(
            OutboxMessage.user_id == bindparam("user_id"),
            OutboxMessage.kind == literal_column("'password_known'"),
            OutboxMessage.created_at > _SINCE,
        )
        .label("notified"),
    )
    .join(User, User.id == PendingLogin.user_id)
    .where(
        PendingLogin.user_id == bindparam("user_id"),
        # Not those before the last recovery, or change of the factors.
        PendingLogin.factor_version == User.factor_version,
        PendingLogin.amr.startswith(literal_column("'pwd'")),
        PendingLogin.created_at > _SINCE,
    ),
    Failed,
)


def changed(
    ctx: Context,
    account: Account,
    kind: Kind,
    session_id: UUID | None,
    at: datetime | None = None,
) -> None:
    """Enqueue the notice of a change, in its transaction and after its writes.

    ``session_id``: the sign-in that made it; None for a sign-in that is not complete, or a clone.
    The link removes what was added since that sign-in. ``at``: when the change was made; for a
    first factor not after `User.factors_since`, so that the link also ends what began with it.
    """
    at = at or clock.now()
    ctx.db.flush()
    user = ctx.db.execute(
        select(User.email, User.email_verified_at).where(User.id == account.id)
    ).one_or_none()
    if user is None or user.email_verified_at is None:
        return
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


def note_failure(
    ctx: Context, account: Account | None, amr: tuple[str, ...], *, more: int = 0
) -> None:
    """Tell the user, once a day, of wrong factors behind the right password.

    ``amr``: what was proved before. ``more``: failures that are stored later. Call it after a
    failed attempt has been counted, and before the transaction has written: the notice is committed
    apart. It needs `FAILURES` of them, over all pending logins of a day.
    """
    if account is None or not set(PASSWORD) <= set(amr):
        return
    counted = FAILED.one(ctx.database, user_id=account.id, since=clock.now() - DAY)
    failures = more + (counted.failures or 0 if counted else 0)
    if failures < FAILURES or (counted and counted.notified):
        return
    subject = limit_subject(account.id), "second factor"
    if account.confirmed and ctx.limits.allows("failed-logins-notice", *subject):
        recipient = Recipient(account.id, account.email)
        outbox.put_apart(ctx, outbox.NewMail("password_known", recipient, names_device=True))


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
