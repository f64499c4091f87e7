"""What a user has of second factors, and what follows for the user when one was removed."""

from collections.abc import Mapping
from typing import Any, NamedTuple
from uuid import UUID

from sqlalchemy import ColumnElement, ScalarSelect, bindparam, exists, func, select
from sqlalchemy.orm import Session

from authsite.platform.context import Context
from authsite.platform.db import PreparedQuery
from authsite.sign_in.methods.passkeys.models import Passkey
from authsite.sign_in.methods.recovery_codes.models import RecoveryCode
from authsite.sign_in.methods.totp.models import TotpFactor
from authsite.users.models import User


class Left(NamedTuple):
    """What a user has of factors: the app, and how many passkeys and unused recovery codes.

    Those count, too, that cannot be used at present.
    """

    totp: bool = False
    passkeys: int = 0
    recovery_codes: int = 0

    @property
    def has_factor(self) -> bool:
        """Whether there is a second factor or a passkey."""
        return self.totp or self.passkeys > 0


def _number(model: type[Any], *conditions: ColumnElement[bool]) -> ScalarSelect[int]:
    of_user = model.user_id == bindparam("user_id")
    return select(func.count()).select_from(model).where(of_user, *conditions).scalar_subquery()


_left = select(
    exists().where(TotpFactor.user_id == bindparam("user_id")).label("totp"),
    _number(Passkey).label("passkeys"),
    _number(RecoveryCode, RecoveryCode.used_at.is_(None)).label("recovery_codes"),
)
LEFT = PreparedQuery(_left, Left)


def find(db: Session, user_id: UUID) -> Left:
    """What the user has, read in the transaction of ``db``."""
    return Left(*db.execute(_left, {"user_id": user_id}).one())


def has_factor(ctx: Context, user_id: UUID) -> bool:
    """Whether the user has a second factor or a passkey; read outside any transaction."""
    found = LEFT.one(ctx.database, user_id=user_id)
    return found is not None and found.has_factor


def after_removal(user: User, left: Left) -> Mapping[str, Any]:
    """The columns of the user after factors were removed.

    The user's choice for passkeys stays as long as there is a factor.
    """
    if not left.has_factor:
        return {"second_factor_at": None, "factors_since": None, "passkey_after_password": False}
    asked = left.totp or user.passkey_after_password
    return {"second_factor_at": user.second_factor_at if asked else None}
