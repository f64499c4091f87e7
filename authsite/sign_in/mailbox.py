"""What the proof of a mailbox does to an account: it confirms the address, or recovers the account.

A mailed link or code proves the mailbox alone. Where nothing else was proved, and the address was
never confirmed, another person may have registered the account, and must keep nothing (account
pre-hijacking).
"""

from typing import NamedTuple

from sqlalchemy import ColumnElement, update

from authsite.platform.audit.events import Event
from authsite.platform.audit.service import record
from authsite.platform.context import Context
from authsite.platform.db import after_commit
from authsite.platform.mail.outbox import Recipient
from authsite.platform.runtime import clock
from authsite.users import identities, mails
from authsite.users import service as users
from authsite.users.account import Account, account_of
from authsite.users.models import User, unchanged_since
from authsite.users.user_data import AT_RECOVERY_BY_MAIL

from .credentials import forget_failures
from .factors.policy import proves_mailbox
from .factors.state import FactorState, state_of
from .method import Pending, PendingEnded
from .pending import PendingLogin


class Confirmed(NamedTuple):
    """An account whose address was just confirmed, as it is now."""

    account: Account
    recognition_version: int
    factors: FactorState


def confirm_by(ctx: Context, amr: tuple[str, ...], pending: Pending) -> Confirmed | None:
    """Confirm the address of a pending login whose mailbox is proved; ``amr``: of that proof.

    Where nothing else was proved, the account is recovered (see `recover`), and its password
    becomes unusable; a browser that has just registered it knows the password. None if there is
    nothing to confirm. Raises `PendingEnded`.
    """
    account = pending.account
    if account is None or account.confirmed or not proves_mailbox(amr):
        return None
    if pending.amr or pending.registered:
        user = users.lock_unchanged(ctx.db, account.id, account.epoch)
    else:
        user = recover(ctx, account, None)
    if user is None:
        raise PendingEnded
    users.confirm(ctx, user)
    ctx.db.flush()
    mails.send_welcome(ctx, Recipient(user.id, user.email))
    ctx.db.refresh(user)
    return Confirmed(account_of(user), user.recognition_version, state_of(user))


def keep_valid(ctx: Context, pending: Pending, confirmed: Confirmed) -> Pending:
    """Let the pending login go on, whose user may have other versions now."""
    account, version, factors = confirmed
    ctx.db.execute(
        update(PendingLogin)
        .where(PendingLogin.id == pending.id)
        .values(user_epoch=account.epoch, factor_version=factors.factor_version)
        .execution_options(synchronize_session=False)
    )
    return pending._replace(account=account, factors=factors, recognition_version=version)


def recover(
    ctx: Context,
    account: Account,
    password_hash: str | None,
    *conditions: ColumnElement[bool],
) -> User | None:
    """Recover an account by its mailbox: nothing of before opens it any more.

    Every sign-in ends, and with it every token; the password is replaced, or unusable (None); all
    identities and personal access tokens are removed, and no browser is recognized. The user, as
    they are now, or None if they were disabled, have another epoch, or do not fulfil the
    ``conditions``.
    """
    now = clock.now()
    changed = users.end_sign_ins(
        ctx,
        account.id,
        *unchanged_since(account.epoch),
        *conditions,
        end_reset_links=True,
        forget_recognized=True,
        password_hash=password_hash,
        links_ended_at=now,  # the links "This was not me" and these in the same mailbox
        updated_at=now,
    )
    if changed is None:
        return None
    identities.remove(ctx, account.id)
    for function in AT_RECOVERY_BY_MAIL.of(ctx.services).values():
        function(ctx, account.id)
    record(ctx, Event.RECOVERY_DONE, user_id=account.id)
    after_commit(ctx.db, lambda: forget_failures(ctx, account.id))
    return ctx.db.get_one(User, account.id, populate_existing=True)
