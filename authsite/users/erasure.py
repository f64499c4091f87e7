"""Erase a user."""

from collections.abc import Iterator, Sequence
from typing import Any
from uuid import UUID

from sqlalchemy import ColumnElement, Connection, delete, select, tuple_
from sqlalchemy.orm import InstrumentedAttribute, Session

from authsite.platform.audit.cause import Cause, details_of
from authsite.platform.audit.events import Event
from authsite.platform.audit.service import record
from authsite.platform.context import Context, Services
from authsite.platform.db.batches import Batch
from authsite.platform.http.request_info import RequestInfo
from authsite.platform.user_data import USER_DATA

from . import released
from .errors import SignInEnded
from .groups import owners
from .models import LoginName, User, unchanged_since

DUE = 100  # users of one batch


def erase(
    ctx: Context,
    user_id: UUID,
    epoch: int | None,
    *,
    why: str | None = None,
    cause: Cause | None = None,
    keep_username: bool = True,
) -> None:
    """Erase the user, and all that packages have registered as data of users.

    The audit trail keeps only the id. The address is free again at once, and a new account with
    it gets nothing of the old one; the username is kept from everyone for a time (`released`).
    ``why`` and ``cause`` go into the audit trail; None if the signed-in user requested it.
    ``keep_username``: false if no application can have been told it. Raises `SignInEnded` unless
    ``epoch`` is still that of the user, who is enabled; with None (an administrator) neither is
    checked. Raises `LastOwner`.
    """
    owners.require_another(ctx.db, user_id)
    keys = select(LoginName.key).where(LoginName.user_id == user_id, LoginName.kind == "email")
    addresses = ctx.db.scalars(keys).all()
    conditions = () if epoch is None else unchanged_since(epoch)
    erased = ctx.db.execute(
        delete(User)
        .where(User.id == user_id, *conditions)
        .returning(User.username, User.email_verified_at)
        .execution_options(synchronize_session=False)
    ).one_or_none()
    if erased is None:
        raise SignInEnded
    if erased.username and keep_username:
        released.release(ctx, erased.username, None)
    for data in USER_DATA.of(ctx.services).values():
        if data.erase is not None:
            data.erase(ctx.db, user_id)
        # Who registers the address of another person does not own what was sent there.
        if data.erase_address is not None and erased.email_verified_at is not None:
            for address in addresses:
                data.erase_address(ctx.db, address)
    details = details_of(cause, **({"why": why} if why else {}))
    record(ctx, Event.USER_ERASED, user_id=user_id, details=details)


def erase_where(
    services: Services,
    connection: Connection,
    which: Sequence[ColumnElement[bool]],
    order: InstrumentedAttribute[Any],
    *,
    why: str,
    keep_username: bool = True,
) -> Iterator[Batch]:
    """Erase the users who meet the conditions, each in a transaction; for ``config.add_cleanup``.

    ``order``: a column that one of the conditions bounds, and whose index finds the rows.
    """
    after: list[ColumnElement[bool]] = []
    while True:
        chosen = select(order, User.id).where(*which, *after).order_by(order, User.id).limit(DUE)
        rows = connection.execute(chosen).all()
        erased = sum(
            _erase_if(services, row.id, which, why=why, keep_username=keep_username) for row in rows
        )
        yield Batch(erased, 1.0)
        if len(rows) < DUE:
            return
        after = [tuple_(order, User.id) > tuple(rows[-1])]


def _erase_if(
    services: Services,
    user_id: UUID,
    which: Sequence[ColumnElement[bool]],
    *,
    why: str,
    keep_username: bool,
) -> bool:
    """Erase the user, unless the conditions do not hold any more."""
    with Session(services.database.transactional) as db:
        ctx = Context(services, lambda: RequestInfo(agent="authsite cleanup"), lambda: db)
        if db.scalar(select(User.id).where(User.id == user_id, *which).with_for_update()) is None:
            return False
        erase(ctx, user_id, None, why=why, keep_username=keep_username)
        db.commit()
        return True
