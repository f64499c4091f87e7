"""A device asks for its tokens, again and again (RFC 8628, sections 3.4 and 3.5).

Once a person has approved, there is an authorization code with the id of the device code. It is
redeemed by the same checks as any other, and once.
"""

from datetime import datetime, timedelta
from typing import NamedTuple, NoReturn
from uuid import UUID

from sqlalchemy import bindparam, or_, select, update

from authsite.oauth.client_auth import AuthenticatedClient
from authsite.oauth.codes.redeem import counting_failures, redeem_of_device
from authsite.oauth.errors import ExpiredCode, InvalidCode
from authsite.oauth.token_reasons import DeviceReason
from authsite.oauth.tokens import TokenPair
from authsite.platform.context import Context
from authsite.platform.db import PreparedQuery
from authsite.platform.db.prepared import columns_of
from authsite.platform.runtime import clock

from . import text
from .errors import AccessDenied, AuthorizationPending, ExpiredToken, InvalidDeviceCode, SlowDown
from .models import DeviceCode

SLOWER = 5  # seconds that each request that was too early adds to the interval
LONGEST = 300  # seconds of an interval; then a request that is too early writes nothing
JITTER = timedelta(milliseconds=500)  # a request may take less time on its way than the one before


class PolledCode(NamedTuple):
    """A device code as a request for the tokens finds it; the columns of `DeviceCode`."""

    id: UUID
    client_id: UUID
    client_epoch: int
    interval: int
    poll_after: datetime | None
    expires_at: datetime
    approved: bool | None


class Polled(NamedTuple):
    """A device code whose request was noted."""

    id: UUID


_COLUMNS = DeviceCode.__table__.c
_WAITS = (
    DeviceCode.id == bindparam("code_id", type_=_COLUMNS.id.type),
    DeviceCode.decided_at.is_(None),
)
_NEXT = bindparam("next", type_=_COLUMNS.poll_after.type)
POLLED = PreparedQuery(
    select(*columns_of(DeviceCode, PolledCode)).where(DeviceCode.id == bindparam("code_id")),
    PolledCode,
)
IN_TIME = PreparedQuery(
    update(DeviceCode)
    .where(
        *_WAITS,
        or_(
            DeviceCode.poll_after.is_(None),
            DeviceCode.poll_after <= bindparam("now", type_=_COLUMNS.poll_after.type),
        ),
    )
    .values(poll_after=_NEXT)
    .returning(DeviceCode.id),
    Polled,
)
TOO_EARLY = PreparedQuery(
    update(DeviceCode)
    .where(*_WAITS)
    .values(
        poll_after=_NEXT,
        interval=DeviceCode.interval + bindparam("slower", type_=_COLUMNS.interval.type),
    )
    .returning(DeviceCode.id),
    Polled,
)


def poll(ctx: Context, client: AuthenticatedClient, device_code: str, resource: str) -> TokenPair:
    """The tokens, once a person has approved.

    Raises `AuthorizationPending`, `SlowDown`, `AccessDenied` and `ExpiredToken`;
    `InvalidDeviceCode`, which is counted in the limit `client-auth`; and what `codes.redeem` raises
    after an approval.
    """
    with counting_failures(ctx, client.id):
        try:
            code = _find(ctx, client, device_code)
            if code.approved:
                return redeem_of_device(ctx, client, code.id, resource)
        except ExpiredCode:
            raise ExpiredToken from None
        except InvalidCode as error:
            if error.why is None:
                raise
            raise InvalidDeviceCode(error.why) from None
    _wait(ctx, code)


def _find(ctx: Context, client: AuthenticatedClient, device_code: str) -> PolledCode:
    values = text.CODE.decode_expired(ctx.services.keys, device_code)
    if values is None:
        raise InvalidCode(DeviceReason.CODE_UNKNOWN)
    code = POLLED.one(ctx.database, code_id=values.id)
    if code is None:
        raise InvalidCode(DeviceReason.CODE_GONE)
    if code.client_id != client.id:
        raise InvalidCode(DeviceReason.CODE_OTHER_CLIENT)
    if code.client_epoch != client.epoch:
        raise InvalidCode(DeviceReason.CODE_CLIENT_CHANGED)
    return code


def _wait(ctx: Context, code: PolledCode) -> NoReturn:
    """Note the request of a device that has no answer yet, and raise what it is told.

    In separate transactions, since that of a refused request is rolled back. Of two requests at the
    same time one is too early. A flood of requests soon only reads.
    """
    now = clock.now()
    if code.approved is False:
        raise AccessDenied
    if code.expires_at <= now:
        raise ExpiredToken
    too_early = code.poll_after is not None and code.poll_after > now + JITTER
    if too_early and code.interval >= LONGEST:
        raise SlowDown
    wait = timedelta(seconds=code.interval)
    if IN_TIME.one(ctx.database, code_id=code.id, now=now + JITTER, next=now + wait):
        raise AuthorizationPending
    wait += timedelta(seconds=SLOWER)
    if TOO_EARLY.one(ctx.database, code_id=code.id, slower=SLOWER, next=now + wait):
        raise SlowDown
    raise AuthorizationPending  # answered at this moment: the next request finds it
