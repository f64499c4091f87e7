"""Make, count and end the recovery codes of a user."""

import secrets
import uuid
from collections.abc import Sequence
from datetime import datetime
from typing import NamedTuple

from sqlalchemy import ForeignKey, String, case, delete, func, insert, or_, select
from sqlalchemy.orm import Mapped, mapped_column

from authsite.platform.audit.events import Event
from authsite.platform.audit.service import Cause, record
from authsite.platform.context import Context
from authsite.platform.db.base import Base
from authsite.platform.mail import outbox
from authsite.platform.mail.outbox import Recipient
from authsite.platform.runtime import clock
from authsite.platform.runtime.lines import typed_code
from authsite.users.models import User

# The form of recovery codes: 120 random bits in Crockford's base32 (OWASP ASVS 6.5.2).


ALPHABET = "0123456789ABCDEFGHJKMNPQRSTVWXYZ"
LENGTH = 24  # characters of five bits
GROUP = 4
MAX_TYPED = 96  # characters, with blanks and dashes

_READ_AS = str.maketrans("OIL", "011")  # Crockford's rule for letters that look like digits


def new_code() -> str:
    """A new code, without dashes."""
    return "".join(secrets.choice(ALPHABET) for _ in range(LENGTH))


def shown(code: str) -> str:
    """The code in groups of four, as people read it."""
    return "-".join(code[at : at + GROUP] for at in range(0, LENGTH, GROUP))


def read(typed: str) -> str | None:
    """The code in what was typed, in any case (`typed_code`); None if it cannot be one."""
    if len(typed) > MAX_TYPED:
        return None
    code = typed_code(typed).upper().translate(_READ_AS)
    return code if len(code) == LENGTH and set(code) <= set(ALPHABET) else None


# The table of recovery codes.


class RecoveryCode(Base):
    """A recovery code of a user; ``mac``: as of `SealingKeys.macs`. NULL ``used_at``: not used."""

    __tablename__ = "recovery_codes"

    id: Mapped[uuid.UUID] = mapped_column(primary_key=True)
    user_id: Mapped[uuid.UUID] = mapped_column(
        ForeignKey("users.id", ondelete="CASCADE"), index=True
    )
    mac: Mapped[str] = mapped_column(String(96))
    created_at: Mapped[datetime]
    used_at: Mapped[datetime | None]


PURPOSE = "recovery code"
COUNT = 8


class Codes(NamedTuple):
    """The recovery codes of a user: how many can still be used, and when they were made."""

    left: int
    created_at: datetime


def macs_of(ctx: Context, user_id: uuid.UUID, code: str) -> tuple[str, ...]:
    """What a code of the user is recognized by: under the first key, and under each other one."""
    return ctx.services.sealing.macs(PURPOSE, user_id.bytes + code.encode())


def create(ctx: Context, user_id: uuid.UUID) -> tuple[str, ...]:
    """A new set of codes in place of the former one, as they are shown, once.

    The caller has locked the row of the user.
    """
    now, made = clock.now(), [new_code() for _ in range(COUNT)]
    end_all(ctx, user_id)
    rows = [
        {
            "id": uuid.uuid4(),
            "user_id": user_id,
            "mac": macs_of(ctx, user_id, code)[0],
            "created_at": now,
            "used_at": None,
        }
        for code in made
    ]
    ctx.db.execute(insert(RecoveryCode), rows)
    record(ctx, Event.RECOVERY_CODES_CREATED, user_id=user_id)
    return tuple(map(shown, made))


def end_all(ctx: Context, user_id: uuid.UUID) -> None:
    """End every code of the user."""
    ctx.db.execute(delete(RecoveryCode).where(RecoveryCode.user_id == user_id))


def count_of_other_keys(ctx: Context) -> int:
    """How many unused codes were made with another key than the first one."""
    first = ctx.services.sealing.macs(PURPOSE, b"")[0].partition(".")[0]
    query = select(func.count()).where(
        RecoveryCode.used_at.is_(None), ~RecoveryCode.mac.startswith(f"{first}.")
    )
    return ctx.db.scalar(query) or 0


def end_of_keys(ctx: Context, prefixes: Sequence[str]) -> int:
    """End the codes of keys with these prefixes; how many could still be used.

    Each user who loses one gets a notice, at a confirmed address.
    """
    of_keys = or_(*(RecoveryCode.mac.startswith(each) for each in prefixes))
    losing = select(RecoveryCode.user_id).where(of_keys, RecoveryCode.used_at.is_(None))
    # Before the codes end, and by a subquery: a statement has room for some ten thousand ids.
    users = ctx.db.scalars(select(User).where(User.id.in_(losing))).all()
    ended = ctx.db.scalars(
        delete(RecoveryCode)
        .where(of_keys)
        .returning(RecoveryCode.used_at)
        .execution_options(synchronize_session=False)
    ).all()
    for user in users:
        details = Cause("command").details(kind="recovery_code")
        record(ctx, Event.FACTOR_REMOVED, user_id=user.id, details=details)
        if user.email_verified_at is not None:
            outbox.put(ctx, outbox.NewMail("recovery_codes_ended", Recipient(user.id, user.email)))
    return ended.count(None)


def find(ctx: Context, user_id: uuid.UUID) -> Codes | None:
    """The codes of the user; None if none were made, or the last factor has ended them."""
    unused = func.sum(case((RecoveryCode.used_at.is_(None), 1), else_=0))
    query = select(unused, func.max(RecoveryCode.created_at)).where(RecoveryCode.user_id == user_id)
    left, created_at = ctx.db.execute(query).one()
    return Codes(left, created_at) if created_at else None
