"""A recovery code as a second factor: one `UPDATE` uses it up, committed at once."""

from collections.abc import Mapping
from typing import NamedTuple
from uuid import UUID

from sqlalchemy import bindparam, func, select, update

from authsite.platform.audit.events import Event
from authsite.platform.audit.service import record_apart
from authsite.platform.context import Context
from authsite.platform.db import PreparedQuery
from authsite.platform.i18n import _
from authsite.platform.runtime import clock
from authsite.sign_in.factors import notices, policy, recovering
from authsite.sign_in.gate import admit
from authsite.sign_in.method import Method, Pending, Target, Verified, Words, Wrong
from authsite.sign_in.methods.totp.method import unlock
from authsite.users.account import RECOVERY_CODE, Account

from . import service
from .service import RecoveryCode

NAME = policy.RECOVERY_CODE


class Found(NamedTuple):
    """The id of a code."""

    id: UUID


class Left(NamedTuple):
    """How many codes can still be used."""

    left: int


_OF_USER = RecoveryCode.user_id == bindparam("user_id")
_IS_IT = RecoveryCode.mac == bindparam("mac", type_=RecoveryCode.mac.type)

LEFT = PreparedQuery(
    select(func.count().label("left"))
    .select_from(RecoveryCode)
    .where(_OF_USER, RecoveryCode.used_at.is_(None)),
    Left,
)
CODE = PreparedQuery(select(RecoveryCode.id).where(_OF_USER, _IS_IT), Found)
USE = PreparedQuery(
    update(RecoveryCode)
    .where(_OF_USER, _IS_IT, RecoveryCode.used_at.is_(None))
    .values(used_at=bindparam("now", type_=RecoveryCode.used_at.type))
    .returning(RecoveryCode.id),
    Found,
)


def offered(ctx: Context, account: Account | None) -> bool:
    """Whether the user has a code left."""
    return account is not None and _left(ctx, account.id) > 0


def verify(
    ctx: Context, _target: Target, given: Mapping[str, str], pending: Pending | None
) -> Verified | Wrong | None:
    """Use up ``code``, one of the user's. Raises `Denied`."""
    if pending is None:
        return None
    account, code = pending.user, service.read(given.get("code", ""))
    if code is None:
        return Wrong()
    for mac in service.macs_of(ctx, account.id, code):
        if USE.one(ctx.database, user_id=account.id, mac=mac, now=clock.now()):
            unlock(ctx, account.id)
            details = {"left": str(_left(ctx, account.id))}
            record_apart(ctx, Event.RECOVERY_CODE_USED, user_id=account.id, details=details)
            return admit(ctx, account, RECOVERY_CODE)
        if CODE.one(ctx.database, user_id=account.id, mac=mac):
            return Wrong("code_used")
    return Wrong()


def _notify(ctx: Context, account: Account) -> None:
    notices.changed(ctx, account, "recovery_code_used", None)
    recovering.end_waiting(ctx, account.id)


WORDS = Words(
    title=_("Enter a recovery code"),
    way=_("Use a recovery code"),
    lead=_("Each of the codes for %(address)s works once."),
    label=_("Recovery code"),
    hint=_("24 letters and digits. Spaces and hyphens do not matter."),
    autocomplete="off",
    wrong=_("This code is not right or was already used. Enter another one."),
    missing=_("Enter one of your recovery codes."),
)
METHOD = Method(NAME, RECOVERY_CODE, offered=offered, verify=verify, after=_notify, words=WORDS)


def _left(ctx: Context, user_id: UUID) -> int:
    found = LEFT.one(ctx.database, user_id=user_id)
    return found.left if found else 0
