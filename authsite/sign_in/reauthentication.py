"""Check the current password before a sensitive change (OWASP ASVS 7.5.1)."""

from collections.abc import Callable, Sequence
from typing import NamedTuple

from sqlalchemy import bindparam, select

from authsite.context import Context
from authsite.platform.audit.events import Event
from authsite.platform.audit.service import record
from authsite.platform.db import PreparedQuery
from authsite.platform.http.errors import FieldError, ValidationFailed
from authsite.platform.rate_limit import limit_subject
from authsite.users.account import SignedInUser
from authsite.users.models import User

from .errors import WrongCurrentPassword


class StoredHash(NamedTuple):
    """The hash of a user's password, if the user has one."""

    password_hash: str | None


STORED_HASH = PreparedQuery(
    select(User.password_hash).where(
        User.id == bindparam("user_id"), User.epoch == bindparam("epoch")
    ),
    StoredHash,
)


def reauthenticate(
    ctx: Context,
    user: SignedInUser,
    password: str,
    check_others: Callable[[], Sequence[FieldError]] = tuple,
) -> None:
    """Check the current password of a signed-in user, limited and recorded.

    ``check_others`` returns the errors of the other fields, so that one response has all errors.
    It runs after the password was checked. Call this function before the request has written
    anything. Raises `WrongCurrentPassword` (422 on ``current_password``), after which the audit row
    is kept, `ValidationFailed` if only other fields are wrong, `TooManyAttempts` before any hash,
    and `HashCapacityExceeded`.
    """
    with ctx.limits.reauthentication(
        limit_subject(user.account.id), str(user.session_id)
    ) as attempt:
        # No row, and so no right password, if the epoch is not the user's any more.
        stored = STORED_HASH.one(ctx.database, user_id=user.account.id, epoch=user.account.epoch)
        attempt.succeeded = ctx.passwords.check(password, stored.password_hash if stored else None)
    others = check_others()
    if attempt.succeeded:
        if others:
            raise ValidationFailed(details=others)
        return
    details = {"session": str(user.session_id)}
    record(ctx, Event.REAUTHENTICATION_FAILED, user_id=user.account.id, details=details)
    if attempt.locked:
        record(ctx, Event.REAUTHENTICATION_LOCKED, user_id=user.account.id, details=details)
    raise WrongCurrentPassword(others)
