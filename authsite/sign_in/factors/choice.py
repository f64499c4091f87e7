"""Which second factor the page asks for first: the one that the user has used last."""

from datetime import datetime
from typing import NamedTuple

from sqlalchemy import bindparam, func, select

from authsite.platform.context import Context
from authsite.platform.db import PreparedQuery
from authsite.sign_in.method import Pending
from authsite.sign_in.methods.passkeys.models import Passkey
from authsite.sign_in.methods.totp.models import TotpFactor

from .names import PASSKEY, RECOVERY_CODE, TOTP


class LastUsed(NamedTuple):
    """When the user has used, or else added, a factor of each kind."""

    totp: datetime | None
    passkey: datetime | None


LAST_USED = PreparedQuery(
    select(
        select(func.max(func.coalesce(TotpFactor.used_at, TotpFactor.created_at)))
        .where(TotpFactor.user_id == bindparam("user_id"))
        .scalar_subquery()
        .label(TOTP),
        select(func.max(func.coalesce(Passkey.used_at, Passkey.created_at)))
        .where(Passkey.user_id == bindparam("user_id"))
        .scalar_subquery()
        .label(PASSKEY),
    ),
    LastUsed,
)


def in_order(ctx: Context, pending: Pending) -> tuple[str, ...]:
    """The methods of the login, the one that was used last first, recovery codes at the end."""
    if len(pending.methods) <= 1 or pending.account is None:
        return pending.methods
    found = LAST_USED.one(ctx.database, user_id=pending.account.id) or LastUsed(None, None)
    moments = found._asdict()

    def place(name: str) -> tuple[bool, float]:
        moment = moments.get(name)
        return name == RECOVERY_CODE, -moment.timestamp() if moment else 0.0

    return tuple(sorted(pending.methods, key=place))
