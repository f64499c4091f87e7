"""The mailed codes of a user that still count, for an operator whose mails do not arrive."""

from datetime import datetime
from typing import NamedTuple

from sqlalchemy import select

from authsite.platform.audit.cause import Cause
from authsite.platform.audit.events import Event
from authsite.platform.audit.service import record
from authsite.platform.context import Context
from authsite.platform.runtime import clock
from authsite.sign_in.factors.missing import SoFar, find_missing
from authsite.sign_in.factors.state import FactorState
from authsite.sign_in.models import PendingLogin
from authsite.sign_in.pending import MAX_FAILURES
from authsite.users.account import account_of
from authsite.users.models import User, user_of

from . import codes
from .service import NAME


class WaitingCode(NamedTuple):
    """A code, when and where it was asked for, and whether for a change in a sign-in."""

    code: str
    of_session: bool
    began_at: datetime
    expires_at: datetime
    address: str | None
    agent: str | None


def reveal(ctx: Context, user: User, cause: Cause) -> list[WaitingCode]:
    """The codes of sign-ins that wait for one, and of changes of a signed-in user, newest first.

    The codes are those of the mails, sent or not. A person who has one and the browser signs in as
    the user: so it is recorded, unless there is none.
    """
    query = (
        select(PendingLogin)
        .join(User, user_of(PendingLogin))
        .where(
            PendingLogin.user_id == user.id,
            PendingLogin.expires_at > clock.now(),
            PendingLogin.failures < MAX_FAILURES,
        )
        .order_by(PendingLogin.created_at.desc(), PendingLogin.id)
    )
    found = [
        WaitingCode(
            codes.code_of(ctx.services.keys, row.id),
            row.session_id is not None,
            row.created_at,
            row.expires_at,
            row.address,
            row.agent,
        )
        for row in ctx.db.scalars(query)
        if row.session_id is not None or _waits(ctx, user, row)
    ]
    if found:
        details = cause.details(codes=str(len(found)))
        record(ctx, Event.LOGIN_CODE_SHOWN, user_id=user.id, details=details)
    return found


def _waits(ctx: Context, user: User, row: PendingLogin) -> bool:
    """Whether the sign-in goes on with a mailed code; one with another factor does not."""
    if row.factor_version != user.factor_version:
        return False
    factors = FactorState(user.second_factor_at, user.factor_version)
    so_far = SoFar(tuple(row.amr.split()), factors, row.recognized, row.unrecognized)
    missing = find_missing(ctx, account_of(user), so_far)
    return missing is not None and NAME in missing.methods
