"""A signed-in user proves again, in the same browser session, to be who they are."""

import secrets
import uuid
from datetime import datetime
from typing import Any

from sqlalchemy import update

from authsite.context import Context
from authsite.platform.audit.events import Event
from authsite.platform.audit.service import record
from authsite.sign_in import facts
from authsite.users.account import Account

from .models import BrowserSession
from .service import RenewedSession, row_hash_of


def confirm(
    ctx: Context,
    account: Account,
    session_id: uuid.UUID,
    amr: tuple[str, ...],
    at: datetime,
    *,
    whole: bool = True,
) -> RenewedSession | None:
    """Note that the user has proved again, ``at`` that moment and by ``amr``, to be who they are.

    ``whole``: this is all that the sign-in rests on, whose ``amr`` and time it becomes; otherwise
    another proof is missing. The session goes on under a new key. Returns None if it has ended.
    """
    proved = {"facts": facts.pack(amr), "auth_at": at} if whole else {}
    return _renew_proved(ctx, account, session_id, {"confirmed_at": at, **proved})


def step_up(
    ctx: Context,
    account: Account,
    session_id: uuid.UUID,
    amr: tuple[str, ...],
    auth_at: datetime,
    confirmed_at: datetime | None,
) -> RenewedSession | None:
    """Write how and when the user has proved to be who they are, and record it.

    The session goes on under a new key, with the same id. Returns None if it has ended.
    """
    values = {"facts": facts.pack(amr), "auth_at": auth_at, "confirmed_at": confirmed_at}
    renewed = _renew_proved(ctx, account, session_id, values)
    if renewed is not None:
        details = {"session": str(session_id), "amr": " ".join(amr)}
        record(ctx, Event.LOGIN_STEPPED_UP, user_id=account.id, details=details)
    return renewed


def _renew_proved(
    ctx: Context, account: Account, session_id: uuid.UUID, values: dict[str, Any]
) -> RenewedSession | None:
    key = secrets.token_urlsafe(32)
    remember = ctx.db.scalar(
        update(BrowserSession)
        .where(
            BrowserSession.id == session_id,
            BrowserSession.user_id == account.id,
            BrowserSession.user_epoch == account.epoch,
        )
        .values(key_hash=row_hash_of(ctx, key), **values)
        .returning(BrowserSession.remember)
        .execution_options(synchronize_session=False)
    )
    return None if remember is None else RenewedSession(key, remember)
