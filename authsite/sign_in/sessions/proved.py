"""A signed-in user proves again, in the same browser session, to be who they are."""

import uuid
from datetime import datetime

from authsite.platform.audit.events import Event
from authsite.platform.audit.service import record
from authsite.platform.context import Context
from authsite.sign_in import facts
from authsite.users.account import Account

from .service import RenewedSession, renew_proved


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
    renewed = renew_proved(ctx, account, session_id, values)
    if renewed is not None:
        details = {"session": str(session_id), "amr": " ".join(amr)}
        record(ctx, Event.LOGIN_STEPPED_UP, user_id=account.id, details=details)
    return renewed
