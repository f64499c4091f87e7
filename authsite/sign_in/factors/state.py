"""Whether a user is asked for a second factor, and the version that every change raises."""

import uuid
from collections.abc import Mapping
from datetime import datetime
from typing import Any, NamedTuple
from uuid import UUID

from sqlalchemy import ColumnElement, ForeignKey, String, bindparam, false, select, update
from sqlalchemy.orm import Mapped, mapped_column

from authsite.platform.context import Context
from authsite.platform.db import PreparedQuery
from authsite.platform.db.base import Base
from authsite.users.models import User


class FactorState(NamedTuple):
    """What a login reads of the user: see the columns of `User`.

    ``removed``: this transaction has removed all factors and passkeys, which are still there for
    what reads outside of it.
    """

    second_factor_at: datetime | None = None
    factor_version: int = 0
    removed: bool = False


FACTOR_STATE = PreparedQuery(
    select(User.second_factor_at, User.factor_version, false().label("removed")).where(
        User.id == bindparam("user_id")
    ),
    FactorState,
)


def read(ctx: Context, user_id: UUID) -> FactorState:
    """The state of a user, read outside any transaction; of one who is gone, that of no factor."""
    return FACTOR_STATE.one(ctx.database, user_id=user_id) or FactorState()


def state_of(user: User) -> FactorState:
    """The state that this transaction has made: a recovery changes it, and the sign-in goes on."""
    return FactorState(user.second_factor_at, user.factor_version, user.factors_since is None)


def change(
    ctx: Context, user_id: UUID, values: Mapping[str, Any], *conditions: ColumnElement[bool]
) -> bool:
    """Write columns of the user after a change of the factors, and raise ``factor_version``.

    All pending logins and remembered browsers of the user end. Whether the user is there and meets
    ``conditions``.
    """
    changed = ctx.db.scalar(
        update(User)
        .where(User.id == user_id, *conditions)
        .values(factor_version=User.factor_version + 1, **values)
        .returning(User.id)
        .execution_options(synchronize_session="fetch")
    )
    return changed is not None


def locked_version(ctx: Context, user_id: UUID) -> int | None:
    """The user's ``factor_version`` in the request's transaction, which has locked the row."""
    return ctx.db.scalar(select(User.factor_version).where(User.id == user_id))


# The table of remembered browsers.


class RememberedBrowser(Base):
    """A browser that is not asked for a second factor again until ``expires_at``.

    It counts while both versions are still those of its user. Its cookie has the ``id``, sealed.
    """

    __tablename__ = "remembered_browsers"

    id: Mapped[uuid.UUID] = mapped_column(primary_key=True)
    user_id: Mapped[uuid.UUID] = mapped_column(
        ForeignKey("users.id", ondelete="CASCADE"), index=True
    )
    factor_version: Mapped[int]
    recovery_version: Mapped[int]
    address: Mapped[str | None] = mapped_column(String(45))
    agent: Mapped[str | None] = mapped_column(String(200))
    created_at: Mapped[datetime]
    expires_at: Mapped[datetime]
