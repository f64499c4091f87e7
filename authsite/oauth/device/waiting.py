"""The device that waits with a user code, and the person's answer (RFC 8628, section 3.3)."""

from datetime import datetime
from typing import NamedTuple
from uuid import UUID

from sqlalchemy import bindparam, select, update
from sqlalchemy.exc import IntegrityError

from authsite.oauth.codes import service as codes
from authsite.oauth.codes.service import NewCode
from authsite.oauth.consents import service as consents
from authsite.platform.audit.events import Event
from authsite.platform.audit.service import record
from authsite.platform.context import Context
from authsite.platform.db import PreparedQuery
from authsite.platform.db.prepared import columns_of
from authsite.platform.runtime import clock
from authsite.users import service as users
from authsite.users.errors import SignInEnded

from . import text
from .errors import answered_user_code, expired_user_code, wrong_user_code
from .models import DeviceCode

LIMIT = "device-code"


class Device(NamedTuple):
    """A device that shows a user code; the columns of `DeviceCode`."""

    id: UUID
    client_id: UUID
    client_epoch: int
    scope: str
    audience: str | None
    address: str | None
    agent: str | None
    created_at: datetime
    expires_at: datetime
    decided_at: datetime | None


DEVICE = PreparedQuery(
    select(*columns_of(DeviceCode, Device)).where(
        DeviceCode.user_code == bindparam("user_code", type_=DeviceCode.__table__.c.user_code.type)
    ),
    Device,
)


def find(ctx: Context, user_code: str) -> Device | None:
    """The device code with this user code, whatever became of it; outside of the transaction."""
    for digest in text.digests(ctx.services.keys, user_code):
        found = DEVICE.one(ctx.database, user_code=digest)
        if found is not None:
            return found
    return None


def waiting(ctx: Context, user_id: UUID, typed: str) -> Device:
    """The device that waits with the code that the user ``typed``.

    Each failure counts, for the address and for the user, and it is counted before anything is
    read: who sends many at once learns no more. Raises `TooManyAttempts` and `UserCodeRefused`.
    """
    subjects = (ctx.limits.address, str(user_id))
    for subject in subjects:
        ctx.limits.count(LIMIT, subject)
    user_code = text.shown(typed)
    found = find(ctx, user_code) if user_code else None
    if found is None:
        raise wrong_user_code()
    if found.decided_at is not None:
        raise answered_user_code()
    if found.expires_at <= clock.now():
        raise expired_user_code()
    for subject in subjects:
        ctx.limits.refund(LIMIT, subject)
    return found


def approve(ctx: Context, device: Device, new: NewCode) -> None:
    """Store the answer and the code ``new`` that gives the tokens, in the transaction of ``ctx``.

    The device learns of it when it asks the next time. The consent is stored, as at the
    authorization endpoint. Raises `SignInEnded`, and `UserCodeRefused` if another request has
    answered, or the code has expired.
    """
    client, account = new.client, new.account
    # First of all: what ends the sign-ins or the consents of a user locks the user first, too.
    if users.lock_unchanged(ctx.db, account.id, account.epoch) is None:
        raise SignInEnded
    _decide(ctx, device, account.id, approved=True)
    if new.by_consent:
        consents.give(ctx, account.id, client.id, new.scope, new.audience)
        consents.note_use(ctx, account.id, client.id)
    try:
        codes.add(ctx, new, device.id, device.expires_at)
    except IntegrityError:  # the row of the client is gone
        raise expired_user_code() from None
    details = {"scope": new.scope, "session": str(new.session.id)}
    about = {"user_id": account.id, "client_id": client.id}
    record(ctx, Event.DEVICE_APPROVED, **about, details=details)


def deny(ctx: Context, device: Device, user_id: UUID) -> None:
    """Store that the user does not allow it. Raises `UserCodeRefused` as `approve`."""
    _decide(ctx, device, user_id, approved=False)
    record(ctx, Event.DEVICE_DENIED, user_id=user_id, client_id=device.client_id)


def _decide(ctx: Context, device: Device, user_id: UUID, *, approved: bool) -> None:
    """One UPDATE: of concurrent answers, one counts."""
    now = clock.now()
    decided = ctx.db.scalar(
        update(DeviceCode)
        .where(
            DeviceCode.id == device.id,
            DeviceCode.decided_at.is_(None),
            DeviceCode.expires_at > now,
        )
        .values(user_id=user_id, decided_at=now, approved=approved)
        .returning(DeviceCode.id)
        .execution_options(synchronize_session=False)
    )
    if decided is None:
        raise expired_user_code() if device.expires_at <= now else answered_user_code()
