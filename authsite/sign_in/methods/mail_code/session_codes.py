"""Codes by mail for a signed-in user, as the proof of a sensitive change.

The code counts in the sign-in that has asked for it, until the next one is sent.
"""

import secrets
from hashlib import sha256
from typing import NamedTuple
from uuid import UUID, uuid4

from sqlalchemy import ColumnElement, bindparam, delete, literal_column, select

from authsite.platform.audit.events import Event
from authsite.platform.audit.service import record_apart
from authsite.platform.context import Context
from authsite.platform.db import PreparedQuery
from authsite.platform.rate_limit import limit_subject
from authsite.platform.rate_limit.recognized import Owner
from authsite.platform.runtime import clock
from authsite.sign_in import pending
from authsite.sign_in.credentials import owner_of_user
from authsite.sign_in.errors import PROOF_LIFETIME
from authsite.sign_in.models import PendingLogin
from authsite.sign_in.pending import LIFETIME, MAX_FAILURES
from authsite.users.account import SignedInUser
from authsite.users.errors import SignInEnded
from authsite.users.levels import is_old
from authsite.users.models import User, user_of

from . import codes
from .service import NAME, may_mail_user, put

_MAX: ColumnElement[int] = literal_column(str(MAX_FAILURES))
_EXPIRES = PendingLogin.__table__.c.expires_at.type


class SessionCode(NamedTuple):
    """The row of a code, and the user's `recognition_version`."""

    id: UUID
    recognition_version: int


SESSION_CODE = PreparedQuery(
    select(PendingLogin.id, User.recognition_version)
    .join(User, user_of(PendingLogin))
    .where(
        PendingLogin.session_id == bindparam("session_id"),
        PendingLogin.user_id == bindparam("user_id"),
        PendingLogin.expires_at > bindparam("now", type_=_EXPIRES),
        PendingLogin.failures < _MAX,
    ),
    SessionCode,
)


class RecognitionVersion(NamedTuple):
    """The user's `recognition_version`."""

    recognition_version: int


RECOGNITION = PreparedQuery(
    select(User.recognition_version).where(User.id == bindparam("user_id")), RecognitionVersion
)


def send_to_session(ctx: Context, user: SignedInUser) -> None:
    """Mail a code to the address of a signed-in user; the one before does not count any more.

    Over the limits no mail goes out and the one before goes on counting; the answer does not show
    it. Call it before the request has written anything. Raises `SignInEnded` if the user is gone.
    """
    account, session_id, now = user.account, user.session_id, clock.now()
    fresh = not is_old(user.auth_at, PROOF_LIFETIME, now)
    if not may_mail_user(ctx, account, _owner(ctx, user), fresh=fresh):
        return
    ctx.db.execute(
        delete(PendingLogin)
        .where(PendingLogin.session_id == session_id, PendingLogin.user_id == account.id)
        .execution_options(synchronize_session=False)
    )
    row = PendingLogin(
        id=uuid4(),
        key_hash=sha256(secrets.token_bytes(32)).hexdigest(),  # no key opens it
        user_id=account.id,
        user_epoch=account.epoch,
        session_id=session_id,
        remember=False,
        amr="",
        enroll=False,
        unrecognized=False,
        failures=0,
        address=ctx.request_info.address,
        agent=ctx.request_info.agent,
        created_at=now,
        expires_at=now + LIFETIME,
    )
    if not pending.insert(ctx, row):
        raise SignInEnded
    put(ctx, row.id, account, "change_code")


def is_right(ctx: Context, user: SignedInUser, code: str) -> bool:
    """Whether ``code`` is the one that was mailed to the user for this sign-in.

    The attempt is counted before the check, for the code and for the user: call it before the
    request has written anything. Raises `TooManyAttempts`.
    """
    found = _find(ctx, user)
    owner = owner_of_user(user.account.id, found.recognition_version if found else 0)
    with ctx.limits.second_factor(owner, factor_subject(user)) as attempt:
        counted = found and pending.count_attempt(ctx, found.id)
        right = bool(found and counted and codes.is_code(ctx.services.keys, found.id, code))
        attempt.succeeded = right
    if found is None or not right:
        details = {"method": NAME, "reason": "invalid_code"}
        record_apart(ctx, Event.FACTOR_FAILED, user_id=user.account.id, details=details)
        return False
    pending.refund_attempt(ctx, found.id)
    return True


def factor_subject(user: SignedInUser) -> str:
    """Under what the wrong further proofs of a signed-in user count: the sign-in.

    So the holder of a stolen session uses up nothing that the owner needs to sign in.
    """
    return f"{limit_subject(user.account.id)} {user.session_id}"


def _owner(ctx: Context, user: SignedInUser) -> Owner:
    found = RECOGNITION.one(ctx.database, user_id=user.account.id)
    return owner_of_user(user.account.id, found.recognition_version if found else 0)


def use_up(ctx: Context, user: SignedInUser) -> bool:
    """End the code in the request's transaction; False if it has ended in the meantime.

    A request that is rolled back leaves it.
    """
    found = _find(ctx, user)
    used = found and ctx.db.scalar(
        delete(PendingLogin)
        .where(PendingLogin.id == found.id, PendingLogin.expires_at > clock.now())
        .returning(PendingLogin.id)
        .execution_options(synchronize_session=False)
    )
    return used is not None


def _find(ctx: Context, user: SignedInUser) -> SessionCode | None:
    values = {"session_id": user.session_id, "user_id": user.account.id, "now": clock.now()}
    return SESSION_CODE.one(ctx.database, **values)
