"""Erase a user."""

from uuid import UUID

from sqlalchemy import delete

from authsite.platform.audit.cause import Cause, details_of
from authsite.platform.audit.events import Event
from authsite.platform.audit.service import record
from authsite.platform.context import Context
from authsite.platform.user_data import USER_DATA

from . import released
from .errors import SignInEnded
from .groups import owners
from .models import User, unchanged_since


def erase(
    ctx: Context,
    user_id: UUID,
    epoch: int | None,
    *,
    why: str | None = None,
    cause: Cause | None = None,
) -> None:
    """Erase the user, and all that packages have registered as data of users.

    The audit trail keeps only the id. The address is free again at once, and a new account with
    it gets nothing of the old one; the username is kept from everyone for a time (`released`).
    ``why`` and ``cause`` go into the audit trail; None if the signed-in user requested it. Raises
    `SignInEnded`
    unless ``epoch`` is still that of the user, who is enabled; with None (an administrator) neither
    is checked. Raises `LastOwner`.
    """
    owners.require_another(ctx.db, user_id)
    conditions = () if epoch is None else unchanged_since(epoch)
    erased = ctx.db.execute(
        delete(User)
        .where(User.id == user_id, *conditions)
        .returning(User.username)
        .execution_options(synchronize_session=False)
    ).one_or_none()
    if erased is None:
        raise SignInEnded
    if erased.username:
        released.release(ctx, erased.username, None)
    for data in USER_DATA.of(ctx.services).values():
        if data.erase is not None:
            data.erase(ctx.db, user_id)
    details = details_of(cause, **({"why": why} if why else {}))
    record(ctx, Event.USER_ERASED, user_id=user_id, details=details)
