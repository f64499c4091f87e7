"""The code of an authenticator app as a second factor.

A code is used up by one `UPDATE` that raises ``last_step``, committed at once: no transaction is
open while a proof is checked. Of concurrent requests with the same code one succeeds.
"""

import logging
from collections.abc import Mapping
from typing import NamedTuple
from uuid import UUID

from sqlalchemy import BigInteger, ColumnElement, bindparam, literal, literal_column, select, update
from sqlalchemy.orm import Session

from authsite.platform.audit.events import Event
from authsite.platform.audit.service import record_apart
from authsite.platform.context import Context
from authsite.platform.crypto.sealing import Binding, Unusable
from authsite.platform.db import PreparedQuery
from authsite.platform.db.prepared import columns_of
from authsite.platform.i18n import _
from authsite.platform.runtime import clock
from authsite.sign_in.factors import policy
from authsite.sign_in.gate import admit
from authsite.sign_in.method import Method, Pending, Target, Verified, Words, Wrong
from authsite.users.account import TOTP, Account

from . import enrollment
from .models import SECRET, TotpFactor

logger = logging.getLogger(__name__)

NAME = policy.TOTP
MAX_FAILURES = 100
"""Wrong codes in a row after which no code is accepted any more (NIST SP 800-63B-4, 3.2.2)."""

_MAX: ColumnElement[int] = literal_column(str(MAX_FAILURES))
_ZERO: ColumnElement[int] = literal_column("0")


class StoredTotp(NamedTuple):
    """The authenticator app of a user."""

    id: UUID
    secret: str
    digits: int
    period: int
    algorithm: str
    failures: int

    @property
    def parameters(self) -> enrollment.Parameters:
        """How its codes are made."""
        return enrollment.Parameters(self.digits, self.period, self.algorithm)


class Enrolled(NamedTuple):
    """The id of an authenticator app."""

    id: UUID


class Failed(NamedTuple):
    """How many codes in a row were wrong."""

    failures: int


_OF_USER = TotpFactor.user_id == bindparam("user_id")

STORED_TOTP = PreparedQuery(select(*columns_of(TotpFactor, StoredTotp)).where(_OF_USER), StoredTotp)
ENROLLED = PreparedQuery(select(TotpFactor.id).where(_OF_USER), Enrolled)
SPEND = PreparedQuery(
    update(TotpFactor)
    .where(
        TotpFactor.id == bindparam("factor_id"),
        TotpFactor.last_step < bindparam("step", type_=TotpFactor.last_step.type),
        TotpFactor.failures < _MAX,
    )
    .values(
        last_step=bindparam("step", type_=TotpFactor.last_step.type),
        failures=_ZERO,
        used_at=bindparam("now", type_=TotpFactor.used_at.type),
    )
    .returning(TotpFactor.id),
    Enrolled,
)
COUNT_FAILURE = PreparedQuery(
    update(TotpFactor)
    .where(TotpFactor.id == bindparam("factor_id"), TotpFactor.failures < _MAX)
    .values(failures=TotpFactor.failures + literal_column("1"))
    .returning(TotpFactor.failures),
    Failed,
)
UNLOCK = PreparedQuery(
    update(TotpFactor)
    .where(_OF_USER, TotpFactor.failures > _ZERO)
    .values(failures=_ZERO)
    .returning(TotpFactor.id),
    Enrolled,
)


def offered(ctx: Context, account: Account | None) -> bool:
    """Whether the user has an authenticator app, also one that is locked or cannot be opened."""
    if account is None:
        return False
    return ENROLLED.one(ctx.database, user_id=account.id) is not None


def verify(
    ctx: Context, _target: Target, given: Mapping[str, str], pending: Pending | None
) -> Verified | Wrong | None:
    """Check ``code``, and where a factor must be added the ``enrollment`` with it.

    Raises `InvalidEnrollment` and `Denied`.
    """
    if pending is None:
        return None
    account, typed = pending.user, given.get("code", "")
    if pending.adds_factor:
        new = enrollment.confirm(ctx, account, pending.id, given.get("enrollment", ""), typed)
        return new if isinstance(new, Wrong) else admit(ctx, account, TOTP)
    wrong = check(ctx, account.id, typed, counts=not pending.of_session)
    return wrong or admit(ctx, account, TOTP)


WORDS = Words(
    title=_("Enter your code"),
    way=_("Use the code of your authenticator app"),
    lead=_("Open your authenticator app for %(address)s."),
    label=_("Code from your authenticator app"),
    digits=True,
    wrong=_("This code is not right. Enter the one that the app shows now."),
    used=_("This code was used already. Wait until the app shows the next one, and enter that."),
    missing=_("Enter the 6-digit code from the app."),
)
METHOD = Method(NAME, TOTP, offered=offered, verify=verify, words=WORDS)


def check(ctx: Context, user_id: UUID, typed: str, *, counts: bool = True) -> Wrong | None:
    """Use up the code of the user's authenticator app; None if it was right.

    A secret that no key opens, and an app that is locked, accept no code. ``counts``: whether a
    wrong one counts towards `MAX_FAILURES`; in a session it does not, since a thief of one must not
    lock the app.
    """
    stored = STORED_TOTP.one(ctx.database, user_id=user_id)
    code = enrollment.read(typed, stored.digits) if stored else None
    if stored is None or code is None:
        return Wrong()
    try:
        secret = ctx.services.sealing.open(stored.secret, binding(stored.id, user_id))
    except Unusable as error:
        logger.error("totp_unusable", extra={"factor": str(stored.id), "reason": str(error)})
        return Wrong()
    now = clock.now()
    step = enrollment.matching_step(secret, code, now, stored.parameters)
    if step is None:
        if counts:
            _count_failure(ctx, stored, user_id)
        return Wrong()
    if stored.failures >= MAX_FAILURES:
        return Wrong()
    if SPEND.one(ctx.database, factor_id=stored.id, step=step, now=now):
        return None
    record_apart(ctx, Event.FACTOR_REPLAYED, user_id=user_id)
    return Wrong("code_used")


def unlock(ctx: Context, user_id: UUID) -> None:
    """Accept codes again after too many wrong ones: the user has proved another factor."""
    UNLOCK.one(ctx.database, user_id=user_id)


def binding(factor_id: UUID, user_id: UUID) -> Binding:
    """What the sealed secret of an authenticator app is bound to."""
    return Binding(SECRET, factor_id, user=user_id)


def _count_failure(ctx: Context, stored: StoredTotp, user_id: UUID) -> None:
    failed = COUNT_FAILURE.one(ctx.database, factor_id=stored.id)
    if failed and failed.failures == MAX_FAILURES:
        record_apart(ctx, Event.FACTOR_LOCKED, user_id=user_id)


# What a restored backup must not accept again.


def spend_present_steps(db: Session) -> None:
    """Spend the codes of all authenticator apps that would be accepted now.

    A code is accepted one step early or late (RFC 6238, 5.2), and a backup does not know which
    were used since it was made.
    """
    now = literal(int(clock.now().timestamp()), BigInteger)
    newest = now // TotpFactor.period + 1
    db.execute(
        update(TotpFactor)
        .where(TotpFactor.last_step < newest)
        .values(last_step=newest)
        .execution_options(synchronize_session=False)
    )
